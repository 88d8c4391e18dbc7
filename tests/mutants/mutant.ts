import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { parseAst } from 'rolldown/parseAst';

/** A rule that is taken out of the schema or of a source, to see which test finds it missing. */
export interface Mutant {
  /** The table, or the source file. */
  readonly place: string;
  /** The rule, in one line. Unique within its place. */
  readonly rule: string;
  readonly kind: 'check' | 'unique' | 'condition' | 'step' | 'move' | 'notice';
  readonly change: SchemaChange | SourceChange;
}

interface SchemaChange {
  readonly sql: string;
}

/** Replaces a part of the text of a file. */
export interface SourceChange {
  readonly file: string;
  readonly start: number;
  readonly end: number;
  readonly text: string;
}

export const nameOf = ({ place, rule }: Pick<Mutant, 'place' | 'rule'>): string => `${place}: ${rule}`;

export const root = fileURLToPath(new URL('../..', import.meta.url));

/** A node of the syntax tree, which starts and ends at these characters of the file. */
export interface Node {
  readonly type: string;
  readonly start: number;
  readonly end: number;
  readonly [key: string]: unknown;
}

export interface Source {
  /** Relative to the root of the repository. */
  readonly file: string;
  readonly text: string;
  readonly program: Node;
}

export function readSource(file: string): Source {
  const text = readFileSync(root + file, 'utf8');
  return { file, text, program: parseAst(text, { lang: 'ts' }, file) as unknown as Node };
}

const isNode = (value: unknown): value is Node => typeof value === 'object' && value !== null && 'type' in value;

function childrenOf(node: Node): Node[] {
  return Object.values(node)
    .flat()
    .filter((value) => isNode(value));
}

/** The node and everything in it, from the outside to the inside. Nothing in a node for which `isSkipped` is true. */
export function nodesIn(node: Node, isSkipped: (node: Node) => boolean = () => false): Node[] {
  if (isSkipped(node)) return [];
  return [node, ...childrenOf(node).flatMap((child) => nodesIn(child, isSkipped))];
}

export const textOf = ({ text }: Source, { start, end }: { start: number; end: number }): string =>
  text.slice(start, end);

/** In one line. */
export const inLine = (text: string): string => text.replaceAll(/\s+/g, ' ').trim();

/** The value of a variable at the top of a file. */
export function valueOf({ file, program }: Source, name: string): Node {
  const declared = nodesIn(program).find(
    (node) => node.type === 'VariableDeclarator' && (node.id as { name: string }).name === name,
  );
  if (!declared || !isNode(declared.init)) throw new Error(`${file} has no ${name}`);
  return declared.init;
}

/** The name of a property, or of what a node declares. */
export const keyOf = (node: Node): string => {
  const { name, value } = node.key as { name?: string; value?: string };
  return name ?? value ?? '';
};
