import type { Attributes } from '@opentelemetry/api';
import { currentPlace, traced } from './spans.ts';

/** Spans of SQL statements. Values are parameters, so the text contains no data. */

interface Described {
  readonly name: string;
  readonly attributes: Attributes;
}

const textLengthMax = 2_000;
const knownMax = 1_000;
const known = new Map<string, Described>();

export function tracedStatement<Result>(text: string, work: () => Promise<Result>): Promise<Result> {
  if (!currentPlace()) return work();
  const { name, attributes } = known.get(text) ?? described(text);
  return traced(name, { kind: 'client', attributes }, work);
}

function described(text: string): Described {
  const operation = /^\s*(\w+)/.exec(text)?.[1]?.toUpperCase() ?? 'SQL';
  const table = /\b(?:FROM|INTO|UPDATE)\s+(?:ONLY\s+)?([a-z][\w.]*)/.exec(text)?.[1];
  const made = {
    name: table ? `${operation} ${table}` : operation,
    attributes: {
      'db.system.name': 'postgresql',
      'db.operation.name': operation,
      ...(table && { 'db.collection.name': table }),
      'db.query.text': text.replaceAll(/\s+/g, ' ').trim().slice(0, textLengthMax),
    },
  };
  if (known.size < knownMax) known.set(text, made);
  return made;
}
