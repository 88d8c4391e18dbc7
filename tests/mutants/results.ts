import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { type Mutant, nameOf } from './mutant.ts';
import { redundant } from './redundant.ts';

/** mutants.md: the list of mutants, each with the test that finds it. */

const path = fileURLToPath(new URL('mutants.md', import.meta.url));

export interface Finder {
  readonly file: string;
  /** The names of the suites and of the test. */
  readonly test: string;
}
/** Undefined for a mutant with which all tests pass. */
export type Result = Finder | { readonly redundant: string } | undefined;
export type Results = Map<string, Result>;

const nothing = 'nothing';
const because = 'nothing, and it is redundant: ';
const inCell = (text: string): string => text.replaceAll('|', '\\|');
const fromCell = (text: string): string => text.replaceAll('\\|', '|');

export function readResults(): Results {
  const results: Results = new Map();
  let place = '';
  for (const line of existsSync(path) ? readFileSync(path, 'utf8').split('\n') : []) {
    place = /^## (.+)$/.exec(line)?.[1] ?? place;
    const [, rule, found] = /^\| `(.+)` \| (.+) \|$/.exec(line) ?? [];
    if (rule === undefined || found === undefined) continue;
    results.set(nameOf({ place, rule: fromCell(rule) }), finderOf(fromCell(found)));
  }
  return results;
}

/** Why a rule is redundant, if it is. */
export function redundancyOf({ rule }: Mutant): Result {
  const reason = redundant[rule] ?? redundant[rule.split(':')[0] ?? ''];
  return reason === undefined ? undefined : { redundant: reason };
}

function finderOf(cell: string): Result {
  if (cell.startsWith(because)) return { redundant: cell.slice(because.length) };
  const [, file = '', test = ''] = /^`(.+?)`: (.*)$/.exec(cell) ?? [];
  return cell === nothing ? undefined : { file, test };
}

const kinds: Readonly<Record<Mutant['kind'], string>> = {
  check: 'CHECKs',
  unique: 'unique indexes',
  condition: 'conditions of statements that write',
  step: 'rows of the decision table',
  move: 'moves between states',
  notice: 'meanings of notices',
};

const head = `# What finds a missing rule

\`npm run mutants\` takes out each rule below in turn and runs tests until one fails. It writes this file; do not edit it. A CHECK or a unique index is
dropped, a condition of a statement has no effect (\`never\`: a choice beside OR is never true), a row of a table is missing or has the value after
the arrow. Not in the list: conditions on the company, which the tests of tenancy cover; the order beside the id of an operation, which is there for the index;
statements that only read; and primary keys of random ids.
`;

export function writeResults(mutants: readonly Mutant[], results: Results): void {
  const known = mutants.filter((mutant) => results.has(nameOf(mutant)));
  const counts = Object.entries(kinds).map(([kind, title]) => {
    const all = known.filter((mutant) => mutant.kind === kind);
    const count = (is: (result: Result) => boolean): number =>
      all.filter((mutant) => is(results.get(nameOf(mutant)))).length;
    const found = count((result) => result !== undefined && 'file' in result);
    const unneeded = count((result) => result !== undefined && 'redundant' in result);
    return `| ${title} | ${all.length} | ${found} | ${unneeded} |`;
  });
  const places = [...new Set(known.map(({ place }) => place))].map((place) => {
    const lines = known.filter((mutant) => mutant.place === place).map((mutant) => lineOf(mutant, results));
    return [`## ${place}`, '', '| Without | Found by |', '|---|---|', ...lines, ''].join('\n');
  });
  const summary = ['| Rules | Listed | Found | Redundant |', '|---|---|---|---|', ...counts, ''].join('\n');
  writeFileSync(path, `${[head, summary, ...places].join('\n').trimEnd()}\n`);
}

function lineOf(mutant: Mutant, results: Results): string {
  return `| \`${inCell(mutant.rule)}\` | ${inCell(cellOf(results.get(nameOf(mutant))))} |`;
}

export function cellOf(result: Result): string {
  if (!result) return nothing;
  return 'file' in result ? `\`${result.file}\`: ${result.test}` : because + result.redundant;
}
