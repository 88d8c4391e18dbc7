import type { Fields } from './call.ts';

/** A model reads every result, and pays for it: long lists and texts are cut, and the result says so. */

const resultCharsMax = 24_000;

/** The longest text and list, by how much has to be left out. */
const steps = [
  { textMax: 2_000, listMax: 50 },
  { textMax: 500, listMax: 20 },
  { textMax: 200, listMax: 5 },
  { textMax: 100, listMax: 2 },
] as const;
type Step = (typeof steps)[number];

export function smallResult(fields: Fields): Fields {
  if (fits(fields)) return fields;
  for (const step of steps) {
    const cut = { ...(shortened(fields, step) as Fields), shortened: true };
    if (fits(cut)) return cut;
  }
  const short = Object.entries(fields).filter(([, value]) => JSON.stringify(value).length < 100);
  return { ...Object.fromEntries(short.slice(0, 50)), shortened: true };
}

const fits = (fields: Fields): boolean => JSON.stringify(fields).length <= resultCharsMax;

function shortened(value: unknown, step: Step): unknown {
  if (typeof value === 'string') return value.length > step.textMax ? `${value.slice(0, step.textMax)}…` : value;
  if (Array.isArray(value)) return value.slice(0, step.listMax).map((one) => shortened(one, step));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, shortened(one, step)]));
}
