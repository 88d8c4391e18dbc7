import type { Queryable } from '../server/platform/database.ts';
import { CommandError } from './command-error.ts';
import { withDatabase } from './connect.ts';
import { type Check, checks } from './doctor-queries.ts';
import type { Flags } from './options.ts';

/** `doctor`: holds a database against what must always be true of it. Reads only; exits with 1 when something is wrong. */

interface Finding {
  readonly check: string;
  readonly means: string;
  readonly count: number;
  /** Some of them, as `company / object`. */
  readonly examples: readonly string[];
}

const shownMax = 5;

async function find(db: Queryable, { name, means, sql }: Check): Promise<Finding | undefined> {
  const rows = await db.query<{ company_id: string; id: string; count: number }>(
    `SELECT company_id, id, count(*) OVER ()::integer AS count FROM (${sql}) wrong LIMIT ${shownMax}`,
  );
  const [first] = rows;
  if (!first) return undefined;
  return { check: name, means, count: first.count, examples: rows.map((row) => `${row.company_id} / ${row.id}`) };
}

export async function examine(db: Queryable): Promise<Finding[]> {
  const findings: Finding[] = [];
  for (const check of checks) {
    const finding = await find(db, check);
    if (finding) findings.push(finding);
  }
  return findings;
}

export async function doctorCommand(_words: readonly string[], flags: Flags): Promise<string> {
  return withDatabase(async ({ db }) => {
    const findings = await examine(db);
    if (findings.length === 0) {
      return flags.json
        ? `${JSON.stringify({ healthy: true, findings })}\n`
        : `Nothing is wrong: ${checks.length} checks.\n`;
    }
    if (flags.json) {
      process.exitCode = 1;
      return `${JSON.stringify({ healthy: false, findings })}\n`;
    }
    const lines = findings.flatMap(({ means, count, examples }) => [
      `${count} × ${means}`,
      ...examples.map((example) => `    ${example}`),
      ...(count > examples.length ? [`    and ${count - examples.length} more`] : []),
    ]);
    throw new CommandError(
      [...lines, '', `${findings.length} of ${checks.length} checks found something wrong.`].join('\n'),
    );
  }, 'as it is');
}
