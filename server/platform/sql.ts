/** SQL in pieces: text and values stay separate, so that a value can only become a parameter. */
export interface Sql {
  readonly strings: readonly string[];
  readonly values: readonly unknown[];
}

const isSql = (value: unknown): value is Sql => typeof value === 'object' && value !== null && 'strings' in value;

export function sql(strings: TemplateStringsArray, ...values: readonly unknown[]): Sql {
  return { strings, values };
}

/**
 * Returns an SQL expression: whether there is a row `FROM` this. For everything but the conditions that AND connects: in an output
 * column or beside OR, PostgreSQL may answer EXISTS by hashing the whole table, of all companies. A single value it looks up by
 * index.
 */
export const anyRow = (from: string): string => `coalesce((SELECT true FROM ${from} LIMIT 1), false)`;

export const anyRowOf = (from: Sql): Sql => sql`coalesce((SELECT true FROM ${from} LIMIT 1), false)`;

/**
 * Reads rows of each company whose clock is ahead, as `c`, for a FROM. The companies are few and come first for any sizes that
 * PostgreSQL assumes for the tables: in a join it may read every row of all companies instead. `rows` ends with LIMIT.
 */
export const ofClocksAhead = (rows: string, name: string): string =>
  `(SELECT id, clock_offset_ms FROM companies WHERE clock_offset_ms > 0 OFFSET 0) c CROSS JOIN LATERAL (${rows}) ${name}`;

/** For identifiers from our own column tables, never from a request. */
export function raw(text: string): Sql {
  return { strings: [text], values: [] };
}

export function joinSql(parts: readonly Sql[], separator: string): Sql {
  if (parts.length === 0) return raw('');
  return { strings: ['', ...parts.slice(1).map(() => separator), ''], values: parts };
}

export function toStatement(fragment: Sql): { text: string; values: unknown[] } {
  const values: unknown[] = [];
  const write = (part: Sql): string =>
    part.strings
      .map((text, index) => {
        if (index >= part.values.length) return text;
        const value = part.values[index];
        if (isSql(value)) return text + write(value);
        values.push(value);
        return `${text}$${values.length}`;
      })
      .join('');
  return { text: write(fragment), values };
}
