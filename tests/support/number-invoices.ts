import { numberInvoices } from '../../server/features/invoices/jobs.ts';
import { systemClock } from '../../server/platform/clock.ts';
import { openDatabase } from '../../server/platform/database.ts';
import { silentLog } from './silent-log.ts';

/** A program that gives invoices their numbers once: `node tests/support/number-invoices.ts URL`. A test kills it at a failpoint. */

const [, , connectionString = ''] = process.argv;
const db = openDatabase({ connectionString, poolSize: 1, applicationName: 'svc tests', onError: () => undefined });
await numberInvoices(db, systemClock, silentLog);
await db.close();
