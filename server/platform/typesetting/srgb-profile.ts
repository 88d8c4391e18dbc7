/** The color profile of sRGB, by the formulas of IEC 61966-2-1: a PDF for archives says what its colors mean. */

const fixed = (value: number): number => Math.round(value * 65_536);

const curvePoints = 1024;

/** What share of the light a value of sRGB is. */
const lightOf = (value: number): number => (value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4);

function tag(type: string, content: Buffer): Buffer {
  const bytes = Buffer.concat([Buffer.from(type, 'latin1'), Buffer.alloc(4), content]);
  return Buffer.concat([bytes, Buffer.alloc((4 - (bytes.length % 4)) % 4)]);
}

function numbers(...values: readonly number[]): Buffer {
  const bytes = Buffer.alloc(values.length * 4);
  values.forEach((value, index) => bytes.writeInt32BE(value, index * 4));
  return bytes;
}

const xyz = (...values: readonly number[]): Buffer => tag('XYZ ', numbers(...values.map(fixed)));

function description(text: string): Buffer {
  const ascii = Buffer.from(`${text}\0`, 'latin1');
  // No texts in Unicode or for Macintosh.
  return tag('desc', Buffer.concat([numbers(ascii.length), ascii, Buffer.alloc(4 + 4 + 2 + 1 + 67)]));
}

function curve(): Buffer {
  const bytes = Buffer.alloc(4 + curvePoints * 2);
  bytes.writeUInt32BE(curvePoints, 0);
  for (let index = 0; index < curvePoints; index += 1) {
    bytes.writeUInt16BE(Math.round(lightOf(index / (curvePoints - 1)) * 65_535), 4 + index * 2);
  }
  return tag('curv', bytes);
}

const whiteOfProfiles = [0.9642, 1, 0.8249] as const;
const headerLength = 128;
const version = 0x02_10_00_00;

function header(length: number): Buffer {
  const bytes = Buffer.alloc(headerLength);
  bytes.writeUInt32BE(length, 0);
  bytes.writeUInt32BE(version, 8);
  bytes.write('mntrRGB XYZ ', 12, 'latin1');
  [2000, 1, 1].forEach((part, index) => bytes.writeUInt16BE(part, 24 + index * 2));
  bytes.write('acsp', 36, 'latin1');
  numbers(...whiteOfProfiles.map(fixed)).copy(bytes, 68);
  return bytes;
}

/** An ICC profile, version 2. */
export function srgbProfile(): Buffer {
  const light = curve();
  const tags: readonly (readonly [name: string, content: Buffer])[] = [
    ['desc', description('sRGB IEC61966-2.1')],
    ['cprt', tag('text', Buffer.from('No copyright, use freely\0', 'latin1'))],
    ['wtpt', xyz(0.9505, 1, 1.0891)],
    ['rXYZ', xyz(0.4360747, 0.2225045, 0.0139322)],
    ['gXYZ', xyz(0.3850649, 0.7168786, 0.0971045)],
    ['bXYZ', xyz(0.1430804, 0.0606169, 0.7141733)],
    ['rTRC', light],
    ['gTRC', light],
    ['bTRC', light],
  ];
  const contents = [...new Set(tags.map(([, content]) => content))];
  const offsets = new Map<Buffer, number>();
  let offset = headerLength + 4 + tags.length * 12;
  for (const content of contents) {
    offsets.set(content, offset);
    offset += content.length;
  }
  const table = tags.map(([name, content]) =>
    Buffer.concat([Buffer.from(name, 'latin1'), numbers(offsets.get(content) ?? 0, content.length)]),
  );
  return Buffer.concat([header(offset), numbers(tags.length), ...table, ...contents]);
}
