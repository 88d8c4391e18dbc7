import type { Company } from '../../company.ts';
import { minuteMs } from '../../platform/durations.ts';
import type { Logger } from '../../platform/log.ts';
import { isCompanyHere } from '../../shards/queries.ts';
import type { ShardDatabase } from '../../shards/shards.ts';
import { companyConnections } from '../processors/service.ts';
import { type Gate, gates } from '../restores/service.ts';
import { compare, type ReconcileDependencies } from './comparison.ts';
import { fromOf, connectingCompanies, lostOf, openIfCompared, retryDelaysMs } from './service.ts';

export interface GateDependencies extends ReconcileDependencies {
  readonly log: Logger;
  /** The other shards: after a restore, a company that has moved since can be on two of them. */
  readonly others: readonly ShardDatabase[];
}

/** More at once would exceed the rate limits of a processor that many companies use. */
const companiesAtOnce = 16;
/** Longer than a page of a list takes. If the process dies, another one begins again after it. */
const leaseMs = minuteMs;

/**
 * Job: compares the companies whose gate is closed with their processors, several at a time, and opens the gates of those that
 * are compared. Returns how many there were.
 */
export async function compareClosed(dependencies: GateDependencies): Promise<number> {
  const { db } = dependencies;
  const due = await gates.claim(db, companiesAtOnce, leaseMs);
  if (due.length > 0) {
    const companies = await connectingCompanies(dependencies);
    await Promise.all(due.map((gate) => compareOne(dependencies, gate, companies)));
  }
  await gates.finish(db);
  return due.length;
}

async function compareOne(dependencies: GateDependencies, gate: Gate, companies: readonly Company[]): Promise<void> {
  const { db, log } = dependencies;
  const { company_id } = gate;
  const company = companies.find(({ id }) => id === company_id);
  if (!company) return;
  try {
    const twice = await findTwin(dependencies, company_id);
    if (twice !== undefined) {
      const failure = `the company is on the shard ${twice}, too`;
      await gates.keepClosed(db, gate, { waitsFor: 'operator', failure, failures: 0, afterMs: minuteMs });
      return;
    }
    if (await waitsForConnection(dependencies, gate)) return;
    const ids = companies.map(({ id }) => id);
    const onPage = (): Promise<void> => gates.renewLease(db, gate, leaseMs);
    const compared = await compare(dependencies, company, {
      adopt: true,
      fromMs: fromOf(gate),
      companies: ids,
      onPage,
    });
    const { comparison } = compared;
    const isOpen = await openIfCompared(dependencies, gate, compared);
    const counts = { company_id, compared: comparison.compared, missing: comparison.missing.length };
    if (isOpen) log.info(counts, 'the records are compared with the processors; charges are open again');
    else if (comparison.failure)
      log.warn({ ...counts, failure: comparison.failure }, 'the records could not be compared with the processors');
  } catch (error) {
    log.error({ err: error, company_id }, 'the records could not be compared with the processors');
    const afterMs = retryDelaysMs[Math.min(gate.failures, retryDelaysMs.length - 1)] ?? minuteMs;
    const failure = 'the comparison failed; the log of the worker says why';
    await gates.keepClosed(db, gate, { waitsFor: 'processor', failure, failures: gate.failures + 1, afterMs });
  }
}

async function findTwin({ others }: GateDependencies, companyId: string): Promise<string | undefined> {
  for (const { name, db } of others) if (await isCompanyHere(db, companyId)) return name;
  return undefined;
}

/** The processors are not listed again while only a connection is missing. */
async function waitsForConnection({ db }: GateDependencies, gate: Gate): Promise<boolean> {
  if (gate.waits_for !== 'connection') return false;
  const connections = (await companyConnections(db, gate.company_id)).filter(({ removed_at }) => removed_at === null);
  if (lostOf(gate, connections).length === 0) return false;
  const { failure, failures } = gate;
  await gates.keepClosed(db, gate, { waitsFor: 'connection', failure, failures, afterMs: 10_000 });
  return true;
}
