/**
 * Removes the text from a colour profile: names, descriptions, copyrights, dates and vendor data. Everything that
 * describes colours is copied byte by byte, so that a picture looks the same.
 */

const headerBytes = 128;
const entryBytes = 12;
const tagsMax = 100;

/** The tags from which colours are computed (ICC.1:2022, chapter 9). */
const colourTags = new Set([
  'wtpt',
  'bkpt',
  'rXYZ',
  'gXYZ',
  'bXYZ',
  'rTRC',
  'gTRC',
  'bTRC',
  'kTRC',
  ...['A2B0', 'A2B1', 'A2B2', 'A2B3', 'B2A0', 'B2A1', 'B2A2', 'B2A3'],
  ...['D2B0', 'D2B1', 'D2B2', 'D2B3', 'B2D0', 'B2D1', 'B2D2', 'B2D3'],
  'gamt',
  'chad',
  'chrm',
  'lumi',
  'cicp',
]);

/** The size in bytes of a tag of each type, where it is known; a longer tag could hide data. */
const sizes: Readonly<Record<string, (data: Buffer) => number>> = {
  'XYZ ': () => 20,
  sf32: () => 44,
  cicp: () => 12,
  curv: (data) => 12 + 2 * data.readUInt32BE(8),
  para: (data) => 12 + 4 * ([1, 3, 4, 5, 7][data.readUInt16BE(8)] ?? -3),
  chrm: (data) => 12 + 8 * data.readUInt16BE(8),
  mft1: (data) => data.length,
  mft2: (data) => data.length,
  'mAB ': (data) => data.length,
  'mBA ': (data) => data.length,
  mpet: (data) => data.length,
};

/** Header fields for the creator of the profile, the creation date and the checksum. */
const namelessFields: readonly (readonly [start: number, end: number])[] = [
  [4, 8],
  [24, 36],
  [48, 56],
  [80, headerBytes],
];

/** Returns undefined for data that is not a profile; viewers ignore it as well. */
export function namelessProfile(profile: Buffer): Buffer | undefined {
  if (profile.length < headerBytes + 4 || profile.toString('latin1', 36, 40) !== 'acsp') return undefined;
  const count = profile.readUInt32BE(headerBytes);
  if (count > tagsMax || headerBytes + 4 + count * entryBytes > profile.length) return undefined;
  const tags = Array.from({ length: count }, (_, index) => readTag(profile, headerBytes + 4 + index * entryBytes));
  const colours = tags.filter((tag) => tag !== undefined);
  return colours.length > 0 ? writeProfile(profile.subarray(0, headerBytes), colours) : undefined;
}

interface Tag {
  readonly name: string;
  readonly data: Buffer;
  /** The offset of the tag: several tags may share one curve. */
  readonly place: number;
}

function readTag(profile: Buffer, entry: number): Tag | undefined {
  const name = profile.toString('latin1', entry, entry + 4);
  const place = profile.readUInt32BE(entry + 4);
  const size = profile.readUInt32BE(entry + 8);
  if (!colourTags.has(name) || size < 12 || place < headerBytes || place + size > profile.length) return undefined;
  const data = profile.subarray(place, place + size);
  const length = sizes[data.toString('latin1', 0, 4)]?.(data) ?? 0;
  return length >= 12 && length <= size ? { name, place, data: data.subarray(0, length) } : undefined;
}

const aligned = (length: number): number => Math.ceil(length / 4) * 4;

function writeProfile(header: Buffer, colours: readonly Tag[]): Buffer {
  const words = header[8] === undefined || header[8] < 4 ? oldWords : newWords;
  const tags = [...words.map(([name, data], index) => ({ name, data, place: -1 - index })), ...colours];
  const table = Buffer.alloc(4 + tags.length * entryBytes);
  table.writeUInt32BE(tags.length, 0);
  const places = new Map<number, number>();
  const parts: Buffer[] = [];
  let end = headerBytes + table.length;
  for (const [index, { name, data, place }] of tags.entries()) {
    const known = places.get(place);
    const at = known ?? end;
    if (known === undefined) {
      parts.push(data, Buffer.alloc(aligned(data.length) - data.length));
      places.set(place, end);
      end += aligned(data.length);
    }
    table.write(name, 4 + index * entryBytes, 'latin1');
    table.writeUInt32BE(at, 8 + index * entryBytes);
    table.writeUInt32BE(data.length, 12 + index * entryBytes);
  }
  const nameless = Buffer.from(header);
  for (const [start, stop] of namelessFields) nameless.fill(0, start, stop);
  nameless.writeUInt32BE(end, 0);
  return Buffer.concat([nameless, table, ...parts]);
}

/** Every profile must have a description and a copyright; these are empty. */
const oldWords: readonly [name: string, data: Buffer][] = [
  ['desc', Buffer.concat([Buffer.from('desc\0\0\0\0\0\0\0\x02-\0', 'latin1'), Buffer.alloc(78)])],
  ['cprt', Buffer.from('text\0\0\0\0-\0', 'latin1')],
];
const oneWord = Buffer.from('mluc\0\0\0\0\0\0\0\x01\0\0\0\x0cenUS\0\0\0\x02\0\0\0\x1c\0-', 'latin1');
const newWords: readonly [name: string, data: Buffer][] = [
  ['desc', oneWord],
  ['cprt', oneWord],
];
