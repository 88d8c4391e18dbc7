import { ApiError } from '../server/errors.ts';
import { connectAcquirer, stopCharging, setProcessor } from '../server/features/companies/service.ts';
import type { Queryable } from '../server/platform/database.ts';
import { Secret } from '../server/platform/secret.ts';
import { chosenCompany } from './chosen-company.ts';
import { CommandError } from './command-error.ts';
import { withDatabase } from './connect.ts';
import { withVault } from './open-vault.ts';
import type { Flags } from './options.ts';
import { auditOperator } from './audit.ts';

const defaults = { timeoutMs: 10_000, requestLifeMs: 60_000 };

/** `processors connect|disconnect`: the acquirer that charges the cards of a live company. */
export async function processorsCommand([action]: readonly string[], flags: Flags): Promise<string> {
  return withDatabase(async (connected) => {
    const { db } = connected;
    const company = await chosenCompany(db, flags.company ?? 'live');
    if (company.mode !== 'live')
      throw new CommandError('Sandbox companies cannot connect a processor. Use --company live.');
    if (action === 'disconnect') {
      await refusing(() => stopCharging(db, company));
      await auditOperator(db, company, { action: 'disconnectProcessor', objectId: company.id, fields: [] });
      await withVault(connected, (vault) => vault.connect(company.id, null));
      if (flags.json) return `${JSON.stringify({ company_id: company.id, processor: null })}\n`;
      return 'Disconnected. New orders of this company are rejected.\n';
    }
    if (action !== 'connect') throw new CommandError('Use processors connect or processors disconnect.');
    const secret = process.env.SVC_PROCESSOR_SECRET;
    if (!secret)
      throw new CommandError('Set the environment variable SVC_PROCESSOR_SECRET to the secret of the acquirer.');
    const connection = {
      url: checkedUrl(flags.url),
      secret: new Secret(secret),
      timeoutMs: milliseconds(flags['timeout-ms'], '--timeout-ms', defaults.timeoutMs),
      requestLifeMs: milliseconds(flags['request-life-ms'], '--request-life-ms', defaults.requestLifeMs),
    };
    if (connection.requestLifeMs <= connection.timeoutMs) {
      throw new CommandError('--request-life-ms must be longer than --timeout-ms.');
    }
    const fields = ['url', 'secret', 'timeout_ms', 'request_life_ms'];
    const auditFirst = (inner: Queryable): Promise<void> =>
      auditOperator(inner, company, { action: 'connectProcessor', objectId: company.id, fields });
    await refusing(() => withVault(connected, (vault) => connectAcquirer(db, vault, company, connection, auditFirst)));
    await setProcessor(db, company.id, 'acquirer', connection.requestLifeMs);
    if (flags.json) {
      return `${JSON.stringify({ company_id: company.id, processor: 'acquirer', url: connection.url })}\n`;
    }
    return `${company.name} is connected to ${connection.url}.\n`;
  });
}

async function refusing(work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } catch (error) {
    throw error instanceof ApiError ? new CommandError(error.message) : error;
  }
}

function checkedUrl(text: string | undefined): string {
  const url = text && URL.canParse(text) ? new URL(text) : undefined;
  if (!url || !/^https?:$/.test(url.protocol))
    throw new CommandError('--url must be the http or https URL of the acquirer.');
  return url.href;
}

function milliseconds(text: string | undefined, flag: string, fallback: number): number {
  if (text === undefined) return fallback;
  const value = Number(text);
  if (!Number.isInteger(value) || value < 1)
    throw new CommandError(`${flag} must be a whole number of milliseconds, for example 10000.`);
  return value;
}
