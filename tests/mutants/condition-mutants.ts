import { globSync } from 'node:fs';
import { inLine, type Mutant, type Node, nodesIn, readSource, root, type Source, textOf } from './mutant.ts';
import { blanked, conditionsOf, type Span, termsOf } from './sql-text.ts';

/**
 * The conditions of the statements that write, in operations, in recovery and for the gate. A condition stays in its statement, so
 * that PostgreSQL still knows the types of its parameters, but has no effect.
 */

const files = ['server/features/orders/{operations,recovery}/*-queries.ts', 'server/features/restores/gate-queries.ts'];

/** They say whose rows a statement is about; the tests of tenancy find them. */
const scopes = [/^(\w+\.)?company_id = [\w.${}]+$/, /^[a-z]\.id = ([\w.]*company_id|\$1)$/];
/** The first part of the primary key, beside an id that is unique by itself: for the index only. */
const address = /^(\w+\.)?order_id = [\w.$]+$/;
const identity = /^(\w+\.)?id = /;

/** A template or a string with SQL. The positions of its holes are those in the file. */
interface SqlText extends Span {
  readonly blank: string;
  readonly holes: readonly Span[];
}

interface Place {
  readonly source: Source;
  /** The function or constant around it. */
  readonly owner: string;
  readonly node: Node;
}

interface Term extends Span {
  readonly text: string;
  readonly without: boolean;
}

export function conditionMutants(): Mutant[] {
  const sources = globSync(files, { cwd: root })
    .toSorted()
    .map((file) => readSource(file));
  const places = sources.flatMap((source) => placesIn(source));
  const shared = sharedConditions(places);
  const mutants = places
    .filter(({ owner }) => !shared.has(owner))
    .flatMap((place) => termsAt(place).flatMap((term) => variantsOf(place, term, shared)));
  return numbered(mutants);
}

/** What is declared at the top of a file. */
function placesIn(source: Source): Place[] {
  return (source.program.body as Node[])
    .map((one) => (one.type === 'ExportNamedDeclaration' && one.declaration ? (one.declaration as Node) : one))
    .flatMap((one) => (one.type === 'VariableDeclaration' ? (one.declarations as Node[]) : [one]))
    .filter(({ type }) => type === 'VariableDeclarator' || type === 'FunctionDeclaration')
    .map((node) => ({ source, owner: (node.id as { name: string }).name, node }));
}

const isText = ({ type, value }: Node): boolean =>
  type === 'TemplateLiteral' || (type === 'Literal' && typeof value === 'string');

const isReading = (source: Source, node: Node): boolean => isText(node) && /^.\s*SELECT\b/.test(textOf(source, node));

/** Those of statements that only read are no part of the list. */
function termsAt({ source, node }: Place): Term[] {
  return nodesIn(node, (one) => isReading(source, one))
    .filter((one) => isText(one))
    .flatMap((one) => {
      const text = sqlTextOf(source, one);
      return conditionsOf(text.blank).flatMap((condition) => {
        const terms = termsOf(text.blank, condition).map(({ start, end, without }) => {
          const span = { start: text.start + start, end: text.start + end };
          return { ...span, without, text: inLine(textOf(source, span)) };
        });
        return terms.filter((term) => isRule(term, terms));
      });
    });
}

function isRule({ text }: Term, beside: readonly Term[]): boolean {
  if (scopes.some((scope) => scope.test(text))) return false;
  // The first part of a longer statement.
  if (text.startsWith('${move(')) return false;
  return !address.test(text) || !beside.some((other) => identity.test(other.text));
}

function sqlTextOf(source: Source, node: Node): SqlText {
  const [start, end] = [node.start + 1, node.end - 1];
  const expressions = (node.expressions ?? []) as Node[];
  const holes = expressions.map((one) => ({
    start: source.text.lastIndexOf('${', one.start),
    end: source.text.indexOf('}', one.end) + 1,
  }));
  const inside = holes.map((hole) => ({ start: hole.start - start, end: hole.end - start }));
  return { start, end, holes, blank: blanked(source.text.slice(start, end), inside) };
}

/** Conditions that several statements share, by their names. Each statement that uses one is listed with each of its parts. */
function sharedConditions(places: readonly Place[]): Map<string, Place> {
  const isShared = ({ source, node }: Place): boolean => {
    const value = node.init as Node | undefined;
    return value?.type === 'TemplateLiteral' && /^`\w+ = \$1 AND/.test(textOf(source, value));
  };
  return new Map(places.filter((place) => isShared(place)).map((place) => [place.owner, place]));
}

const takenOut = (text: string, without: boolean): string =>
  without ? `(TRUE OR (${text}))` : `(FALSE AND (${text}))`;

interface Variant {
  readonly rule: string;
  readonly text: string;
}

function variantsOf(place: Place, term: Term, shared: ReadonlyMap<string, Place>): Mutant[] {
  const { source, owner } = place;
  const { start, end } = term;
  const original = source.text.slice(start, end);
  const parts = shared.get(/^\$\{(\w+)\}$/.exec(term.text)?.[1] ?? '');
  const variants = parts
    ? partsOfShared(parts)
    : [{ rule: `${term.text}${term.without ? '' : ' (never)'}`, text: takenOut(original, term.without) }];
  return variants.flatMap(({ rule, text }) =>
    usesOf(place).map((use): Mutant => {
      const changed = use ? `\${${use.parameter} === '${use.value}' ? \`${text}\` : \`${original}\`}` : text;
      return {
        place: source.file,
        rule: `${owner}${use ? ` ${use.value}` : ''}: ${rule}`,
        kind: 'condition',
        change: { file: source.file, start, end, text: changed },
      };
    }),
  );
}

function partsOfShared(place: Place): Variant[] {
  const value = place.node.init as Node;
  const text = place.source.text.slice(value.start + 1, value.end - 1);
  return termsAt(place).map(({ start, end, text: rule, without }) => {
    const from = start - value.start - 1;
    const to = end - value.start - 1;
    return { rule, text: text.slice(0, from) + takenOut(text.slice(from, to), without) + text.slice(to) };
  });
}

interface Use {
  readonly parameter: string;
  readonly value: string;
}

/** A function that makes a statement for its first parameter is listed once for each value that it is called with. */
function usesOf({ source, owner, node }: Place): (Use | undefined)[] {
  const made = node.init as Node | undefined;
  const isTemplate = made?.type === 'ArrowFunctionExpression' && (made.body as Node).type === 'TemplateLiteral';
  if (!made || !isTemplate) return [undefined];
  const values = nodesIn(source.program)
    .filter(({ type, callee }) => type === 'CallExpression' && (callee as { name?: string }).name === owner)
    .flatMap((call) => nodesIn((call.arguments as Node[])[0] as Node))
    .flatMap(({ type, value }) => (type === 'Literal' && /^[a-z_]+$/.test(String(value)) ? String(value) : []));
  const [first] = made.params as { name: string }[];
  const distinct = [...new Set(values)].toSorted();
  return owner === 'move' && first ? distinct.map((value) => ({ parameter: first.name, value })) : [undefined];
}

/** The same condition twice in one function gets a number. */
function numbered(mutants: readonly Mutant[]): Mutant[] {
  const seen = new Map<string, number>();
  return mutants.map((mutant) => {
    const name = `${mutant.place}: ${mutant.rule}`;
    const count = (seen.get(name) ?? 0) + 1;
    seen.set(name, count);
    return count === 1 ? mutant : { ...mutant, rule: `${mutant.rule} (${count})` };
  });
}
