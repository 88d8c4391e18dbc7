import { globSync, readFileSync } from 'node:fs';
import { recordedTables } from '../support/schema.ts';
import { type Mutant, root } from './mutant.ts';

/**
 * The CHECKs and unique indexes of the tables that operations, recovery, invoices and credit write. schema.sql lists them, and a test compares it
 * with the migrated database.
 */

/** Whose statements write the tables: the rooms, the queries that they call, and what is written together with payments. */
const writers = [
  'server/features/orders/{operations,recovery}/*-queries.ts',
  'server/features/orders/{queries,dispute-queries}.ts',
  'server/features/restores/*queries.ts',
  'server/features/reconciliation/queries.ts',
  'server/features/{invoices,credit,card-setups}/*queries.ts',
];

/** Only these columns of the company are written here. */
const columnsOf: Readonly<Record<string, RegExp>> = { companies: /\bgate\b/ };

function writtenTables(): Set<string> {
  const texts = globSync(writers, { cwd: root }).map((file) => readFileSync(root + file, 'utf8'));
  const written = texts.flatMap((text) => [...text.matchAll(/\b(?:INSERT INTO|UPDATE|DELETE FROM) ([a-z_]+)/g)]);
  return new Set(written.map(([, name = '']) => name));
}

/** An id is random, so no two rows have the same: that it is unique is no rule of its own. */
const identifies = /^(company_id, )?id$/;

export async function schemaMutants(): Promise<Mutant[]> {
  const tables = writtenTables();
  return (await recordedTables())
    .filter(({ name }) => tables.has(name))
    .flatMap(({ name, text }) => [...checksOf(name, text), ...uniqueOf(name, text)])
    .filter(({ place, rule }) => columnsOf[place]?.test(rule) ?? true);
}

function checksOf(table: string, text: string): Mutant[] {
  return [...text.matchAll(/^ {2}CONSTRAINT (\w+) CHECK \(([^]*?)\),?\n(?= {2}CONSTRAINT|\);)/gm)].map(
    ([, name = '', rule = '']) => ({
      place: table,
      rule: `${name}: ${withoutCasts(rule)}`,
      kind: 'check',
      change: { sql: `ALTER TABLE ${table} DROP CONSTRAINT ${name}` },
    }),
  );
}

/** What remains finds the rows as fast, and accepts any number of them. */
function uniqueOf(table: string, text: string): Mutant[] {
  const constraints = [...text.matchAll(/^ {2}CONSTRAINT (\w+) (?:PRIMARY KEY|UNIQUE) \((.*)\),?$/gm)];
  const indexes = [...text.matchAll(/^CREATE UNIQUE INDEX (\w+) ON (.*);$/gm)];
  return [
    ...constraints
      .filter(([, , columns = '']) => !identifies.test(columns))
      .map(([, name = '', columns = '']) => ({
        name,
        columns: `(${columns})`,
        sql: `ALTER TABLE ${table} DROP CONSTRAINT ${name} CASCADE; CREATE INDEX ON ${table} (${columns})`,
      })),
    ...indexes.map(([, name = '', rest = '']) => ({
      name,
      columns: rest.replace(/^.* USING btree /, ''),
      sql: `DROP INDEX ${name}; CREATE INDEX ${name} ON ${rest}`,
    })),
  ].map(({ name, columns, sql }) => ({
    place: table,
    rule: `${name}: ${withoutCasts(columns)}`,
    kind: 'unique',
    change: { sql },
  }));
}

const withoutCasts = (rule: string): string =>
  rule
    .replaceAll(/::\w+(\[\])?/g, '')
    .replaceAll(/\s+/g, ' ')
    .trim();
