import type { Company } from '../../company.ts';
import type { WorkLeft } from '../../platform/alarm.ts';
import type { Clock } from '../../platform/clock.ts';
import type { Database } from '../../platform/database.ts';
import { dayMs, minuteMs, secondMs } from '../../platform/durations.ts';
import { firstIdOf } from '../../platform/ids.ts';
import type { Logger } from '../../platform/log.ts';
import { profileOf } from '../profile/service.ts';
import { eachAlone, eachCompany } from './each-alone.ts';
import { type EmailDependencies, type Maker, mail } from './mail.ts';
import { draftsOf, mailedTypes } from './occasions.ts';
import {
  type Cursor,
  type EventToMail,
  findEventsAfter,
  findSendingCompanies,
  type FoundEvent,
  moveCursor,
  passAllComplete,
  readEvents,
  syncCursors,
} from './queries.ts';
import { remindCompany } from './reminders.ts';

/**
 * Writes emails to customers from the events that the service stores anyway, so that nothing is added to the path of an order. An
 * event may be read several times, also by several workers: the database accepts one email for each occasion.
 */

interface EmailShard {
  readonly name: string;
  readonly db: Database;
  readonly clock: Clock;
  readonly log: Logger;
}

/** How long a transaction may stay open: until then an event can appear before one that was read. */
const openSeconds = 300;
/** How far back the quick look reads again. */
const overlapMs = 5 * secondMs;
const wholeEveryMs = 30 * secondMs;
const companiesEveryMs = 5 * secondMs;
const quickCount = 200;
const wholeCount = 5_000;
/** How long an event is tried whose email cannot be written: longer than the day after which the daily limit has room again. */
const patienceMs = 2 * dayMs;
/** At the daily limit, a company is tried again after this time. */
const limitedMs = minuteMs;

interface Progress {
  companies: readonly { readonly company: Company; readonly cursor: Cursor }[];
  companiesAtMs: number;
  wholeAtMs: number;
  /** By company: the last event that was read, and those that need not be read again. */
  readonly latest: Map<string, string>;
  readonly done: Map<string, Set<string>>;
  /** By company that is at its daily limit: until when it is not tried. */
  readonly limitedUntilMs: Map<string, number>;
}

/** What this process remembers of each shard. It only saves work: everything that matters is in the database. */
const progressOn = new WeakMap<Database, Progress>();

function progressOf(db: Database): Progress {
  const known = progressOn.get(db) ?? {
    companies: [],
    companiesAtMs: 0,
    wholeAtMs: 0,
    latest: new Map(),
    done: new Map(),
    limitedUntilMs: new Map(),
  };
  progressOn.set(db, known);
  return known;
}

const companyNowMs = ({ clock }: Pick<EmailShard, 'clock'>, company: Company): number =>
  clock.nowMs() + company.clockOffsetMs;

async function refreshCompanies(shard: EmailShard, progress: Progress): Promise<void> {
  const companies = await findSendingCompanies(shard.db, shard.name);
  const cursors = await syncCursors(
    shard.db,
    companies.map((company) => ({ company_id: company.id, after_id: firstIdOf(companyNowMs(shard, company)) })),
  );
  const byCompany = new Map(cursors.map((cursor) => [cursor.company_id, cursor]));
  progress.companies = companies.flatMap((company) => {
    const cursor = byCompany.get(company.id);
    return cursor ? [{ company, cursor }] : [];
  });
  for (const id of progress.latest.keys()) {
    if (byCompany.has(id)) continue;
    progress.latest.delete(id);
    progress.done.delete(id);
    progress.limitedUntilMs.delete(id);
  }
}

/**
 * Job: writes the emails of new events. Every few seconds it looks only at the newest events. Twice a minute it reads all from the
 * cursor on, which stays behind by the time that a transaction may take, and moves the cursor.
 */
export async function makeCustomerEmails(shard: EmailShard, dependencies: EmailDependencies): Promise<WorkLeft> {
  const { db, clock } = shard;
  const progress = progressOf(db);
  const nowMs = clock.nowMs();
  const isWhole = nowMs - progress.wholeAtMs >= wholeEveryMs;
  if (isWhole || nowMs - progress.companiesAtMs >= companiesEveryMs) {
    await refreshCompanies(shard, progress);
    progress.companiesAtMs = nowMs;
  }
  const places = progress.companies.map(({ company, cursor }) => ({
    company_id: company.id,
    after_id: isWhole ? cursor.after_id : later(cursor.after_id, progress.latest.get(company.id)),
  }));
  if (places.length === 0) return 'idle';
  const read = { count: isWhole ? wholeCount : quickCount, openSeconds };
  const found = await findEventsAfter(db, places, mailedTypes, read);
  const byCompany = Map.groupBy(found, ({ company_id }) => company_id);
  let hasMore = false;
  await eachCompany(shard.log, progress.companies, async ({ company, cursor }) => {
    const events = byCompany.get(company.id) ?? [];
    const news = await mailCompany(shard, dependencies, progress, company, events);
    const moved = isWhole && (await passComplete(shard, progress, company, cursor, events));
    if (events.length === read.count && (news || moved)) hasMore = true;
  });
  if (isWhole && !hasMore) progress.wholeAtMs = nowMs;
  return hasMore ? 'more' : 'idle';
}

/** Between the two, a little before the last event that was read. */
function later(afterId: string, latest: string | undefined): string {
  if (latest === undefined) return afterId;
  const latestMs = Number.parseInt(latest.slice(0, 8) + latest.slice(9, 13), 16);
  const overlapping = firstIdOf(latestMs - overlapMs);
  return overlapping > afterId ? overlapping : afterId;
}

/** Returns whether events are done that were not before. */
async function mailCompany(
  shard: EmailShard,
  dependencies: EmailDependencies,
  progress: Progress,
  company: Company,
  events: readonly FoundEvent[],
): Promise<boolean> {
  const { db, clock, log } = shard;
  const done = doneOf(progress, company);
  const fresh = events.filter(({ id }) => !done.has(id));
  const last = events.at(-1)?.id ?? '';
  if (last > (progress.latest.get(company.id) ?? '')) progress.latest.set(company.id, last);
  if (fresh.length === 0 || clock.nowMs() < (progress.limitedUntilMs.get(company.id) ?? 0)) return false;
  const context = { requestId: '', company, nowMs: companyNowMs(shard, company), db };
  const maker: Maker = { context, dependencies, profile: await profileOf(db, company) };
  const outcome = await eachAlone(log, company, readAll(db, company, fresh), async (event) => {
    for (const draft of draftsOf(event)) await mail(maker, draft);
    done.add(event.id);
  });
  if (outcome.isLimited) progress.limitedUntilMs.set(company.id, clock.nowMs() + limitedMs);
  return outcome.done > 0;
}

async function* readAll(db: Database, { id }: Company, events: readonly FoundEvent[]): AsyncIterable<EventToMail> {
  for (let from = 0; from < events.length; from += quickCount) {
    yield* await readEvents(db, id, events.slice(from, from + quickCount));
  }
}

function doneOf({ done }: Progress, { id }: Company): Set<string> {
  const known = done.get(id) ?? new Set<string>();
  done.set(id, known);
  return known;
}

/** Moves the cursor past the events that are done and before which none can appear any more. */
async function passComplete(
  { db, clock }: EmailShard,
  progress: Progress,
  company: Company,
  { after_id }: Cursor,
  events: readonly FoundEvent[],
): Promise<boolean> {
  const done = doneOf(progress, company);
  // Another worker may have moved the cursor.
  for (const id of done) if (id <= after_id) done.delete(id);
  const isPassed = ({ id, complete, inserted_at }: FoundEvent): boolean =>
    complete && (done.has(id) || clock.nowMs() - inserted_at.getTime() > patienceMs);
  const isWaiting = events.some((event) => event.complete && !isPassed(event));
  if (!isWaiting && events.length < wholeCount) {
    await passAllComplete(db, company.id, openSeconds);
    return false;
  }
  const stop = events.findIndex((event) => !isPassed(event));
  const lastPassed = events.at(stop === -1 ? events.length - 1 : stop - 1);
  if (!lastPassed || stop === 0) return false;
  await moveCursor(db, company.id, lastPassed);
  return true;
}

/** Job: writes the reminders that no event gives occasion to. */
export async function makeReminders(shard: EmailShard, dependencies: EmailDependencies): Promise<void> {
  const progress = progressOf(shard.db);
  await refreshCompanies(shard, progress);
  await eachCompany(shard.log, progress.companies, async ({ company, cursor }) => {
    const profile = await profileOf(shard.db, company);
    const context = { requestId: '', company, nowMs: companyNowMs(shard, company), db: shard.db };
    await remindCompany({ context, dependencies, profile }, cursor, shard.log);
  });
}
