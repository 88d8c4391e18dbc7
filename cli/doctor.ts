import { skewMsMax } from '../server/platform/clock-watch.ts';
import type { Queryable } from '../server/platform/database.ts';
import { hasKeys } from '../server/vault/open-key-store.ts';
import { CommandError } from './command-error.ts';
import { withDatabase } from './connect.ts';
import { type Check, checks } from './doctor-queries.ts';
import { wrongKeys } from './open-vault.ts';
import type { Flags } from './options.ts';

/** `doctor`: holds a database against what must always be true of it. Reads only; exits with 1 when something is wrong. */

interface LookupOutcome {
  readonly check: string;
  readonly means: string;
  readonly count: number;
  /** Some of them, as `company / object`. */
  readonly examples: readonly string[];
}

const shownMax = 5;

async function find(db: Queryable, { name, means, sql }: Check): Promise<LookupOutcome | undefined> {
  const rows = await db.query<{ company_id: string; id: string; count: number }>(
    `SELECT company_id, id, count(*) OVER ()::integer AS count FROM (${sql}) wrong LIMIT ${shownMax}`,
  );
  const [first] = rows;
  if (!first) return undefined;
  return { check: name, means, count: first.count, examples: rows.map((row) => `${row.company_id} / ${row.id}`) };
}

export async function examine(db: Queryable): Promise<LookupOutcome[]> {
  const findings: LookupOutcome[] = [];
  for (const check of checks) {
    const finding = await find(db, check);
    if (finding) findings.push(finding);
  }
  return findings;
}

/** Beside those of the database: the keys of the vault, and the clock. The master secret is checked before every command. */
const checkCount = checks.length + 2;

export async function doctorCommand(_words: readonly string[], flags: Flags): Promise<string> {
  return withDatabase(async (connected) => {
    const findings = await examine(connected.db);
    const keys = await wrongKeys(connected);
    if (keys) findings.push({ check: 'vault_keys', means: keys, count: 1, examples: [] });
    const skewMs = connected.clock.skewMs();
    if (Math.abs(skewMs) > skewMsMax) {
      const means = `clock: this machine and the database differ by ${Math.round(Math.abs(skewMs) / 1_000)} s`;
      findings.push({ check: 'clock_skew', means, count: 1, examples: [] });
    }
    if (findings.length === 0) {
      if (flags.json) return `${JSON.stringify({ healthy: true, findings })}\n`;
      const unseen = hasKeys(connected.config) ? '' : ' The keys of the vault are not here, and were not looked at.';
      return `No problems found: ${checkCount} checks.${unseen}\n`;
    }
    if (flags.json) {
      process.exitCode = 1;
      return `${JSON.stringify({ healthy: false, findings })}\n`;
    }
    const lines = findings.flatMap(({ means, count, examples }) => [
      `${count} × ${means}`,
      ...examples.map((example) => `    ${example}`),
      ...(count > examples.length && examples.length > 0 ? [`    and ${count - examples.length} more`] : []),
    ]);
    throw new CommandError(
      [...lines, '', `${findings.length} of ${checkCount} checks found something wrong.`].join('\n'),
    );
  });
}
