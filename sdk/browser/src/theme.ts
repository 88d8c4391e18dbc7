import type { Theme } from './svc.ts';

/** Sets the theme as CSS properties. Invalid values are ignored. */
export function applyTheme({ mode = 'light', colors = {}, fontFamily, fontSize, radius }: Theme): void {
  const root = document.documentElement;
  root.dataset.mode = mode;
  const set = (name: string, kind: string, value: unknown): void => {
    if (typeof value === 'string' && CSS.supports(kind, value)) root.style.setProperty(`--${name}`, value);
  };
  for (const name of ['text', 'background', 'border', 'focus', 'error', 'placeholder'] as const) {
    set(name, 'color', colors[name]);
  }
  set('font-family', 'font-family', fontFamily);
  set('font-size', 'font-size', fontSize);
  set('radius', 'border-top-left-radius', radius);
}
