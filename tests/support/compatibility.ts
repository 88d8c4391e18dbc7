import type pg from 'pg';

/**
 * Finds what a migration takes away from the release before: what it removed, renamed or tightened. The finding names
 * the object in the way a contract migration names it in its first line, for example `column orders.note`.
 */

export interface Catalog {
  readonly relations: ReadonlySet<string>;
  readonly columns: ReadonlyMap<string, Column>;
  readonly constraints: ReadonlyMap<string, Rule>;
  readonly uniqueIndexes: ReadonlyMap<string, Rule>;
  readonly triggers: ReadonlySet<string>;
  /** The result type by name and parameters. */
  readonly functions: ReadonlyMap<string, string>;
  /** For example `SELECT on orders for svc_api`. */
  readonly rights: ReadonlySet<string>;
}

interface Column {
  readonly type: string;
  readonly required: boolean;
  readonly filled: boolean;
}

interface Rule {
  readonly table: string;
  readonly columns: readonly string[];
  readonly definition: string;
}

export interface Finding {
  readonly object: string;
  readonly problem: string;
}

const ours = `n.nspname IN ('public', 'vault') AND c.relname NOT IN ('schema_migrations', 'compatible_migrations')
  AND NOT c.relispartition`;
const named = `(CASE WHEN n.nspname = 'public' THEN '' ELSE n.nspname || '.' END || c.relname)`;
const relation = `pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace`;

const queries = {
  relations: `SELECT ${named} AS name FROM ${relation} WHERE c.relkind IN ('r', 'p', 'v', 'S') AND ${ours}`,
  columns: `SELECT ${named} || '.' || a.attname AS name, format_type(a.atttypid, a.atttypmod) AS type,
      a.attnotnull AS required, a.atthasdef OR a.attidentity <> '' OR NOT a.attnotnull AS filled
    FROM ${relation} JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
    WHERE c.relkind IN ('r', 'p', 'v') AND ${ours}`,
  constraints: `SELECT ${named} || '.' || k.conname AS name, ${named} AS "table", pg_get_constraintdef(k.oid) AS definition,
      coalesce((SELECT array_agg(a.attname::text) FROM pg_attribute a WHERE a.attrelid = c.oid AND a.attnum = ANY(k.conkey)),
        '{}') AS columns
    FROM ${relation} JOIN pg_constraint k ON k.conrelid = c.oid WHERE k.contype <> 'n' AND ${ours}`,
  uniqueIndexes: `SELECT i.indexrelid::regclass::text AS name, ${named} AS "table", pg_get_indexdef(i.indexrelid) AS definition,
      coalesce((SELECT array_agg(a.attname::text) FROM pg_attribute a WHERE a.attrelid = c.oid AND a.attnum = ANY(i.indkey)),
        '{}') AS columns
    FROM ${relation} JOIN pg_index i ON i.indrelid = c.oid
    WHERE i.indisunique AND NOT EXISTS (SELECT 1 FROM pg_constraint k WHERE k.conindid = i.indexrelid) AND ${ours}`,
  triggers: `SELECT ${named} || '.' || t.tgname AS name FROM ${relation} JOIN pg_trigger t ON t.tgrelid = c.oid
    WHERE NOT t.tgisinternal AND ${ours}`,
  functions: `SELECT p.oid::regprocedure::text AS name, pg_get_function_result(p.oid) AS result
    FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace WHERE n.nspname IN ('public', 'vault')`,
  rights: `SELECT r.privilege_type || ' on ' || ${named} || ' for ' || g.rolname AS name
    FROM ${relation} CROSS JOIN LATERAL aclexplode(c.relacl) r JOIN pg_roles g ON g.oid = r.grantee
    WHERE g.rolname IN ('svc_api', 'svc_vault') AND ${ours}`,
};

export async function readCatalog(client: pg.Client): Promise<Catalog> {
  const read = async <Row extends { name: string }>(query: keyof typeof queries): Promise<Map<string, Row>> =>
    new Map((await client.query<Row>(queries[query])).rows.map((row) => [row.name, row]));
  const functions = await read<{ name: string; result: string }>('functions');
  return {
    relations: new Set((await read('relations')).keys()),
    columns: await read<Column & { name: string }>('columns'),
    constraints: await read<Rule & { name: string }>('constraints'),
    uniqueIndexes: await read<Rule & { name: string }>('uniqueIndexes'),
    triggers: new Set((await read('triggers')).keys()),
    functions: new Map([...functions].map(([name, { result }]) => [name, result])),
    rights: new Set((await read('rights')).keys()),
  };
}

const tableOf = (column: string): string => column.slice(0, column.lastIndexOf('.'));

export function findBreaks(before: Catalog, after: Catalog): Finding[] {
  const gone = (kind: string, was: Iterable<string>, is: { has(name: string): boolean }): Finding[] =>
    [...was].filter((name) => !is.has(name)).map((name) => ({ object: `${kind} ${name}`, problem: 'is gone' }));
  const lostTables = gone('table', before.relations, after.relations);
  const isLost = (table: string): boolean => lostTables.some(({ object }) => object === `table ${table}`);
  const keptColumns = [...before.columns.keys()].filter((name) => !isLost(tableOf(name)));
  return [
    ...lostTables,
    ...gone('column', keptColumns, after.columns),
    ...[...after.columns].flatMap(([name, column]) => columnBreaks(before, name, column)),
    ...[...after.constraints].flatMap(([name, rule]) => ruleBreaks(before, 'constraint', name, rule)),
    ...[...after.uniqueIndexes].flatMap(([name, rule]) => ruleBreaks(before, 'index', name, rule)),
    ...keptRules(before.uniqueIndexes, isLost, after.uniqueIndexes, 'index'),
    ...keptRules(keysOf(before.constraints), isLost, after.constraints, 'constraint'),
    ...gone(
      'trigger',
      [...before.triggers].filter((name) => !isLost(tableOf(name))),
      after.triggers,
    ),
    ...gone('function', before.functions.keys(), after.functions),
    ...[...before.functions].flatMap(([name, result]) =>
      after.functions.has(name) && after.functions.get(name) !== result
        ? [{ object: `function ${name}`, problem: `returns ${after.functions.get(name)} instead of ${result}` }]
        : [],
    ),
    ...[...before.rights]
      .filter((right) => !after.rights.has(right) && !isLost(right.split(' ')[2] ?? ''))
      .map((right) => ({ object: `right ${right}`, problem: 'is gone' })),
  ];
}

/** Keys that ON CONFLICT of the release before may name. */
const keysOf = (rules: ReadonlyMap<string, Rule>): ReadonlyMap<string, Rule> =>
  new Map([...rules].filter(([, { definition }]) => /^(PRIMARY KEY|UNIQUE)/.test(definition)));

function keptRules(
  before: ReadonlyMap<string, Rule>,
  isLost: (table: string) => boolean,
  after: ReadonlyMap<string, Rule>,
  kind: string,
): Finding[] {
  return [...before]
    .filter(([name, { table }]) => !after.has(name) && !isLost(table))
    .map(([name]) => ({ object: `${kind} ${name}`, problem: 'is gone, and ON CONFLICT may name it' }));
}

function columnBreaks(before: Catalog, name: string, now: Column): Finding[] {
  const was = before.columns.get(name);
  const object = `column ${name}`;
  if (!was) {
    const isNewTable = !before.relations.has(tableOf(name));
    return isNewTable || now.filled ? [] : [{ object, problem: 'is new and required, and has no default' }];
  }
  if (was.type !== now.type) return [{ object, problem: `has the type ${now.type} instead of ${was.type}` }];
  if (!was.required && now.required) return [{ object, problem: 'is required now' }];
  return was.filled && !now.filled ? [{ object, problem: 'has no default any more' }] : [];
}

/** A new or changed rule may refuse rows of the release before, unless it concerns only columns that it does not write. */
function ruleBreaks(before: Catalog, kind: 'constraint' | 'index', name: string, rule: Rule): Finding[] {
  const { table, columns, definition } = rule;
  const was = (kind === 'constraint' ? before.constraints : before.uniqueIndexes).get(name);
  if (!before.relations.has(table) || was?.definition === definition) return [];
  if (was && allows(definition, was.definition)) return [];
  const isNew = (column: string): boolean => !before.columns.has(`${table}.${column}`);
  // A null in a new column satisfies a key; a check of new columns alone sees only their defaults.
  const isKey = kind === 'index' || !definition.startsWith('CHECK');
  if (!was && columns.length > 0 && (isKey ? columns.some(isNew) : columns.every(isNew))) return [];
  return [{ object: `${kind} ${name}`, problem: was ? 'has changed' : 'is new' }];
}

const literals = /'[^']*'::text(?:, )?/g;

/** A list that is one literal, as a list of texts. */
const spelledOut = (definition: string): string =>
  definition.replaceAll(/'\{([a-z_,]+)\}'::text\[\]/g, (_, list: string) => {
    const texts = list.split(',').map((text) => `'${text}'::text`);
    return `ARRAY[${texts.join(', ')}]`;
  });

/** Whether the definition only lists more values than before. */
function allows(now: string, before: string): boolean {
  const shapeOf = (text: string): string => spelledOut(text).replaceAll(literals, '').replaceAll(/[()]/g, '');
  const valuesOf = (text: string): string[] =>
    (spelledOut(text).match(literals) ?? []).map((value) => value.replace(/, $/, ''));
  const values = new Set(valuesOf(now));
  return shapeOf(now) === shapeOf(before) && valuesOf(before).every((value) => values.has(value));
}
