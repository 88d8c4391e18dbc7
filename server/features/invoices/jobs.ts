import type { WorkLeft } from '../../platform/alarm.ts';
import type { Clock } from '../../platform/clock.ts';
import type { Database, DatabasePool } from '../../platform/database.ts';
import { failpoint } from '../../platform/failpoints.ts';
import { idTimeMs } from '../../platform/ids.ts';
import type { Logger } from '../../platform/log.ts';
import { emitEvents } from '../events/service.ts';
import { dayIn } from './document.ts';
import {
  findDueCompanies,
  findWaiting,
  lockNumbering,
  type Numbered,
  type Numbering,
  takeNumbers,
  type Waiting,
  writeNumbers,
} from './number-queries.ts';
import { eventsOfNumbered } from './service.ts';

const documentsAtOnce = 500;

/**
 * Job: gives invoices and credit notes their numbers, in the order of payment. All numbers of a batch are taken and written in one
 * transaction with the events about them, so a series has no gap. A company that fails waits, and the others go on.
 */
export async function numberInvoices(db: DatabasePool, clock: Clock, log: Logger): Promise<WorkLeft> {
  let left: WorkLeft = 'idle';
  for (const companyId of await findDueCompanies(db)) {
    try {
      const count = await db.transaction((transaction) => numberNext(transaction, companyId, clock));
      if (count === documentsAtOnce) left = 'more';
    } catch (error) {
      log.error(
        { err: error, company_id: companyId },
        'the invoices of a company got no numbers; they will be retried',
      );
    }
  }
  return left;
}

async function numberNext(db: Database, companyId: string, clock: Clock): Promise<number> {
  const numbering = await lockNumbering(db, companyId);
  if (!numbering) return 0;
  const waiting = await findWaiting(db, companyId, documentsAtOnce);
  const young = waiting.findIndex(({ is_due }) => !is_due);
  const due = young === -1 ? waiting : waiting.slice(0, young);
  const labels = Map.groupBy(due, (one) => labelOf(numbering, one));
  // Always in the same order, although no other process has the lock.
  for (const [series, documents] of [...labels].toSorted(([one], [other]) => (one < other ? -1 : 1))) {
    const last = await takeNumbers(db, companyId, series, documents.length);
    failpoint('invoices.numbers_taken');
    const first = last - documents.length + 1;
    await writeNumbers(
      db,
      companyId,
      documents.map(({ id }, index) => numberedAs(id, series, first + index, numbering)),
    );
  }
  const nowMs = clock.nowMs() + numbering.clock_offset_ms;
  const ids = due.map(({ id }) => id);
  if (ids.length > 0) await emitEvents(db, await eventsOfNumbered(db, { id: companyId, nowMs }, ids));
  failpoint('invoices.numbers_written');
  return due.length;
}

const numberedAs = (id: string, series: string, number: number, { padding }: Numbering): Numbered => ({
  id,
  series,
  number,
  full_number: series + String(number).padStart(padding, '0'),
});

/** What is written before the number. It never ends with a digit, so two series have no number in common. */
function labelOf(numbering: Numbering, { id, kind }: Pick<Waiting, 'id' | 'kind'>): string {
  const { invoice_prefix, credit_note_prefix, with_year, time_zone, restored_at } = numbering;
  const prefix = kind === 'invoice' ? invoice_prefix : credit_note_prefix;
  const year = with_year ? `${yearOf(idTimeMs(id), time_zone)}-` : '';
  return `${prefix}${year}${restored_at ? restoreMark(restored_at) : ''}`;
}

const yearOf = (atMs: number, timeZone: string): string => dayIn(atMs, timeZone).slice(0, 4);

/** The minute of the restore, and not how many there were: a restored database has forgotten the restores before. */
const restoreMark = (at: Date): string => `R${at.toISOString().slice(2, 16).replaceAll(/\D/g, '')}-`;
