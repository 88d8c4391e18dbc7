import { skewMsMax } from '../server/platform/clock-watch.ts';
import type { Queryable } from '../server/platform/database.ts';
import { standbyState } from '../server/platform/synchronous-standby.ts';
import { rotationState } from '../server/platform/key-rotation.ts';
import type { ShardDatabase, Shards } from '../server/shards/shards.ts';
import { hasKeys } from '../server/vault/open-key-store.ts';
import { CommandError } from './command-error.ts';
import { type Connected, onEachShard, withDatabase } from './connect.ts';
import { type Check, checks } from './doctor-queries.ts';
import { hasPlaced } from './doctor-shard-queries.ts';
import { examineShards } from './doctor-shards.ts';
import { readParts, readReplicas, readVault } from './installation.ts';
import { wrongKeys } from './open-vault.ts';
import type { Flags } from './options.ts';
import { countOldValues } from './sealed-values.ts';
import { sizeLines, sizesOf } from './table-sizes.ts';

/** `doctor`: checks the database for inconsistencies. Only reads; exits with 1 if it finds a problem. */

interface LookupOutcome {
  readonly check: string;
  /** With several shards, the one that was examined. */
  readonly shard?: string;
  readonly means: string;
  readonly count: number;
  /** Some of the objects, as `company / object`. */
  readonly examples: readonly string[];
}

const shownMax = 5;

/** While a company moves, the copy that is not in use yet, or no longer, may be incomplete. */
async function find(db: Queryable, { name, means, sql }: Check): Promise<LookupOutcome | undefined> {
  const rows = await db.query<{ company_id: string; id: string; count: number }>(
    `SELECT company_id, id, count(*) OVER ()::integer AS count FROM (${sql}) wrong
     WHERE NOT EXISTS (SELECT 1 FROM company_fences f WHERE f.company_id::text = wrong.company_id::text AND f.state <> 'leaving')
     LIMIT ${shownMax}`,
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

/** With several shards, a finding names its shard. */
async function examineShard({ name, db }: ShardDatabase, isNamed: boolean): Promise<LookupOutcome[]> {
  const found = await examine(db);
  const missing = await standbyMissing({ name, db });
  return isNamed ? [...found.map((one) => ({ ...one, shard: name })), ...missing] : [...found, ...missing];
}

/** What many shards have in common is shown once. */
function grouped(findings: readonly LookupOutcome[]): LookupOutcome[] {
  const groups = Map.groupBy(findings, ({ check, shard, means }) => (shard === undefined ? means : check));
  return [...groups.values()].map((same) => {
    const [first] = same as [LookupOutcome, ...LookupOutcome[]];
    const examples = same.flatMap((one) => one.examples).slice(0, shownMax);
    const count = same.reduce((sum, one) => sum + one.count, 0);
    return { ...first, means: `${shardsText(same)}${first.means}`, count, examples };
  });
}

function shardsText(findings: readonly LookupOutcome[]): string {
  const names = findings.flatMap(({ shard }) => shard ?? []);
  if (names.length === 0) return '';
  const more = names.length > shownMax ? ` and ${names.length - shownMax} more` : '';
  return `shard${names.length > 1 ? 's' : ''} ${names.slice(0, shownMax).join(', ')}${more}: `;
}

/**
 * More than those of the database: the vault keys, old keys, the clock, the standbys, the replicas, and the parts that the
 * settings name. Every command checks the master secret.
 */
const checkCount = checks.length + 6;

async function oldKeys(shards: Shards): Promise<LookupOutcome[]> {
  const { underWay } = await rotationState(shards.control);
  const values = await countOldValues(shards);
  const count = underWay ? 1 : values.reduce((sum, each) => sum + each.count, 0);
  if (count === 0) return [];
  const means = underWay
    ? 'rotation of the keys that is not finished: run `svc secrets rotate`'
    : 'value that is encrypted with a retired key: run `svc secrets rotate`';
  const examples = values.filter((each) => each.count > 0).map((each) => `${each.count} ${each.name}`);
  return [{ check: 'old_keys', means, count, examples }];
}

async function partsAway(connected: Connected): Promise<LookupOutcome[]> {
  const { problem, processorProblem } = await readVault(connected);
  const parts = [
    { component: 'vault', problem },
    { component: 'processor', problem: processorProblem },
    ...(await readParts(connected)),
  ];
  return parts.flatMap((part) => {
    if (part.problem === undefined) return [];
    const means = `${part.component.replaceAll('_', ' ')} that cannot be used from here: ${part.problem}`;
    return [{ check: `${part.component}_unavailable`, means, count: 1, examples: [] }];
  });
}

async function standbyMissing({ name, db }: ShardDatabase): Promise<LookupOutcome[]> {
  const { problem } = (await standbyState(db)) ?? {};
  if (problem === undefined) return [];
  const means = `shard ${name} whose writes wait for a synchronous standby: ${problem}`;
  return [{ check: 'standby_missing', means, count: 1, examples: [] }];
}

async function replicasAway({ config, shards }: Connected): Promise<LookupOutcome[]> {
  return [...(await readReplicas(config, shards.all))].flatMap(([shard, { problem }]) => {
    if (problem === undefined) return [];
    const means = `replica of the shard ${shard} that is not used: ${problem}`;
    return [{ check: 'replica_unavailable', means, count: 1, examples: [] }];
  });
}

export async function doctorCommand(_words: readonly string[], flags: Flags): Promise<string> {
  return withDatabase(async (connected) => {
    const { shards } = connected;
    const isNamed = shards.all.length > 1;
    const examined = await onEachShard(shards.all, (shard) => examineShard(shard, isNamed));
    const findings: LookupOutcome[] = examined.flat();
    if (flags['all-shards'] || shards.all.length > 1 || (await hasPlaced(shards.control)))
      findings.push(...(await examineShards(shards)));
    findings.push(...(await oldKeys(shards)));
    const keys = await wrongKeys(connected);
    if (keys) findings.push({ check: 'vault_keys', means: keys, count: 1, examples: [] });
    const skewMs = connected.clock.skewMs();
    if (Math.abs(skewMs) > skewMsMax) {
      const means = `clock of this machine and clock of the database differ by ${Math.round(Math.abs(skewMs) / 1_000)} s`;
      findings.push({ check: 'clock_skew', means, count: 1, examples: [] });
    }
    if (!keys) findings.push(...(await partsAway(connected)));
    findings.push(...(await replicasAway(connected)));
    const tables = await sizesOf(shards.all);
    if (findings.length === 0) {
      if (flags.json) return `${JSON.stringify({ healthy: true, findings, tables })}\n`;
      const unseen = hasKeys(connected.config) ? '' : ' The vault keys are not available here and were not checked.';
      return `No problems found: ${checkCount} checks.${unseen}\n\n${sizeLines(tables).join('\n')}\n`;
    }
    if (flags.json) {
      process.exitCode = 1;
      return `${JSON.stringify({ healthy: false, findings, tables })}\n`;
    }
    const lines = grouped(findings).flatMap(({ means, count, examples }) => [
      `${count} × ${means}`,
      ...examples.map((example) => `    ${example}`),
      ...(count > examples.length && examples.length > 0 ? [`    and ${count - examples.length} more`] : []),
    ]);
    throw new CommandError(
      [
        ...lines,
        '',
        ...sizeLines(tables),
        '',
        `${new Set(findings.map(({ check }) => check)).size} of ${checkCount} checks found a problem.`,
      ].join('\n'),
    );
  });
}
