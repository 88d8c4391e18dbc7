import { readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import decompress from 'woff2-encoder/decompress';
import { programFolder } from '../program-folder.ts';
import type { FontFamily } from './font-families.ts';

/** Reads the fonts of the packages as TrueType, in one weight. */

type Slice = { readonly name: string; readonly ranges: readonly (readonly [from: number, to: number])[] };

const packageFile = (path: string): URL => new URL(`node_modules/${path}`, programFolder);
const slicesByPackage = new Map<string, readonly Slice[]>();

/** The file of a family that has a character, if the family has it. */
export function sliceOf(family: FontFamily, code: number): string | undefined {
  let slices = slicesByPackage.get(family.package);
  if (!slices) slicesByPackage.set(family.package, (slices = readSlices(family)));
  return slices.find(({ ranges }) => ranges.some(([from, to]) => code >= from && code <= to))?.name;
}

/** A package names the slices and their characters as a style sheet would: `{ "latin": "U+0000-00FF,U+0131" }`. */
function readSlices({ package: name, slices }: FontFamily): Slice[] {
  const text = readFileSync(packageFile(`@fontsource-variable/${name}/unicode.json`), 'utf8');
  const listed = Object.entries(JSON.parse(text) as Record<string, string>);
  return listed
    .filter(([key]) => (slices === 'numbered' ? /^\[\d+\]$/.test(key) : slices.includes(key)))
    .map(([key, ranges]) => ({ name: key.replaceAll(/[[\]]/g, ''), ranges: ranges.split(',').map(rangeOf) }));
}

function rangeOf(text: string): readonly [from: number, to: number] {
  const [from = '', to = from] = text.trim().replace('U+', '').split('-');
  return [Number.parseInt(from, 16), Number.parseInt(to, 16)];
}

const sliceFile = (name: string, slice: string): string =>
  `@fontsource-variable/${name}/files/${name}-${slice}-wght-normal.woff2`;

/** What a release contains of a family, in `node_modules`. */
export const filesOfFamily = (family: FontFamily): string[] => [
  ...['package.json', 'LICENSE', 'unicode.json'].map((file) => `@fontsource-variable/${family.package}/${file}`),
  ...readSlices(family).map(({ name }) => sliceFile(family.package, name)),
];

/** Most receipts need these only. Kept ready, they save half the time of the first receipt. */
export const readySlices = [400, 700].map((weight) => ({
  family: 'inter',
  slice: 'latin',
  weight,
  file: new URL(`server/fonts/inter-latin-${weight}.ttf`, programFolder),
}));

export async function readSlice(family: string, slice: string, weight: number): Promise<Uint8Array> {
  const ready = readySlices.find((each) => each.family === family && each.slice === slice && each.weight === weight);
  return ready ? await readFile(ready.file) : await unpackSlice(family, slice, weight);
}

export async function unpackSlice(family: string, slice: string, weight: number): Promise<Uint8Array> {
  const [file, subsetter] = await Promise.all([readFile(packageFile(sliceFile(family, slice))), loadSubsetter()]);
  return inWeight(subsetter, await decompress(file), weight);
}

/** What is used of the functions of HarfBuzz. Pointers are numbers. */
interface Subsetter {
  readonly memory: { readonly buffer: ArrayBuffer };
  _initialize(): void;
  malloc(size: number): number;
  free(at: number): void;
  hb_blob_create(at: number, length: number, mode: number, data: number, destroy: number): number;
  hb_blob_destroy(blob: number): void;
  hb_blob_get_data(blob: number, length: number): number;
  hb_blob_get_length(blob: number): number;
  hb_face_create(blob: number, index: number): number;
  hb_face_destroy(face: number): void;
  hb_face_reference_blob(face: number): number;
  hb_subset_input_create_or_fail(): number;
  hb_subset_input_destroy(input: number): void;
  hb_subset_input_keep_everything(input: number): void;
  hb_subset_input_set_flags(input: number, flags: number): void;
  hb_subset_input_pin_axis_location(input: number, face: number, axis: number, value: number): number;
  hb_subset_or_fail(face: number, input: number): number;
}

let loading: Promise<Subsetter> | undefined;

function loadSubsetter(): Promise<Subsetter> {
  loading ??= readFile(packageFile('harfbuzzjs/dist/harfbuzz-subset.wasm')).then(async (bytes) => {
    const { instance } = await WebAssembly.instantiate(bytes);
    const subsetter = instance.exports as Subsetter;
    // oxlint-disable-next-line no-underscore-dangle -- The compiler gives it this name.
    subsetter._initialize();
    return subsetter;
  });
  return loading;
}

const writable = 2;
const withoutHints = 1;
const sameGlyphIds = 2;
const weightAxis = Buffer.from('wght').readUInt32BE();

/** A variable font in one weight. fontkit cannot write a part of a variable font, and the default of some is hair-thin. */
function inWeight(hb: Subsetter, font: Uint8Array, weight: number): Uint8Array {
  const at = hb.malloc(font.length);
  new Uint8Array(hb.memory.buffer).set(font, at);
  const source = hb.hb_blob_create(at, font.length, writable, 0, 0);
  const face = hb.hb_face_create(source, 0);
  const input = hb.hb_subset_input_create_or_fail();
  hb.hb_subset_input_keep_everything(input);
  hb.hb_subset_input_set_flags(input, withoutHints | sameGlyphIds);
  hb.hb_subset_input_pin_axis_location(input, face, weightAxis, weight);
  const made = hb.hb_subset_or_fail(face, input);
  const blob = hb.hb_face_reference_blob(made);
  const start = hb.hb_blob_get_data(blob, 0);
  const bytes = new Uint8Array(hb.memory.buffer).slice(start, start + hb.hb_blob_get_length(blob));
  hb.hb_blob_destroy(blob);
  hb.hb_face_destroy(made);
  hb.hb_subset_input_destroy(input);
  hb.hb_face_destroy(face);
  hb.hb_blob_destroy(source);
  hb.free(at);
  if (bytes.length === 0) throw new Error('a font could not be read in its weight');
  return bytes;
}
