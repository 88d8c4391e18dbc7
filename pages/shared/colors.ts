/** The colors that follow from the color of the merchant. Each text stays readable with any color. */

type Rgb = readonly [red: number, green: number, blue: number];

const white: Rgb = [255, 255, 255];
/** Pure black: on some colors, neither white nor a dark gray is readable. */
const black: Rgb = [0, 0, 0];
/** The backgrounds of the two themes, as in the style sheet. */
const lightPanel: Rgb = white;
const darkPanel: Rgb = [21, 26, 35];
const readableContrast = 4.5;

function rgbOf(color: string): Rgb | undefined {
  const digits = /^#([0-9a-f]{6})$/i.exec(color)?.[1];
  if (!digits) return undefined;
  const value = Number.parseInt(digits, 16);
  return [value >> 16, (value >> 8) & 255, value & 255];
}

const hexOf = (rgb: Rgb): string => `#${rgb.map((part) => Math.round(part).toString(16).padStart(2, '0')).join('')}`;

/** The relative luminance of WCAG. */
function luminance(rgb: Rgb): number {
  const [red, green, blue] = rgb.map((part) => {
    const share = part / 255;
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  }) as [number, number, number];
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

function contrast(one: Rgb, other: Rgb): number {
  const [first, second] = [luminance(one), luminance(other)];
  return (Math.max(first, second) + 0.05) / (Math.min(first, second) + 0.05);
}

/** The color itself if it is readable on the background, else the nearest mix with `toward` that is. */
function readableOn(background: Rgb, color: Rgb, toward: Rgb): Rgb {
  for (let share = 0; share < 1; share += 0.05) {
    const mixed = color.map((part, index) => part + ((toward[index] ?? 0) - part) * share) as unknown as Rgb;
    if (contrast(mixed, background) >= readableContrast) return mixed;
  }
  return toward;
}

/** The properties of the style sheet for a color such as `#1f6b4f`; none for a text that is no color. */
export function brandColors(color: string): Readonly<Record<string, string>> {
  const brand = rgbOf(color);
  if (!brand) return {};
  return {
    '--brand': hexOf(brand),
    '--on-brand': hexOf(contrast(white, brand) >= readableContrast ? white : black),
    '--accent-on-light': hexOf(readableOn(lightPanel, brand, black)),
    '--accent-on-dark': hexOf(readableOn(darkPanel, brand, white)),
  };
}
