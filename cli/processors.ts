import { readFile } from 'node:fs/promises';
import { text as readAll } from 'node:stream/consumers';
import type { Company } from '../server/company.ts';
import { ApiError } from '../server/errors.ts';
import {
  addConnection,
  companyConnections,
  orderCompanyConnections,
  requireNothingOpen,
  setCompanyConnection,
} from '../server/features/processors/service.ts';
import { newId } from '../server/platform/ids.ts';
import { Secret } from '../server/platform/secret.ts';
import type { Configuration } from '../server/vault/processors/kind.ts';
import { kindNamed, processorKinds } from '../server/vault/processors/kinds.ts';
import type { Vault } from '../server/vault/vault.ts';
import { auditOperator } from './audit.ts';
import { chosenCompany } from './chosen-company.ts';
import { CommandError } from './command-error.ts';
import { type Connected, withDatabase } from './connect.ts';
import { withVault } from './open-vault.ts';
import type { Flags } from './options.ts';

/** `processors …`: the processors that charge the cards of a live company. */

type Action = (given: {
  connected: Connected;
  company: Company;
  flags: Flags;
}) => Promise<{ json: unknown; text: string }>;

const actions: Readonly<Record<string, Action>> = {
  list: async ({ connected: { shards }, company }) => {
    const rows = await companyConnections(shards.of(company).db, company.id);
    const lines = rows.map((row) => {
      const status = row.removed_at ? 'removed' : row.disconnected_at ? 'disconnected' : `${row.position}.`;
      return `${row.id}  ${status.padEnd(12)}  ${row.kind.padEnd(8)}  ${row.name}  ${JSON.stringify(row.rules)}`;
    });
    return { json: rows, text: lines.length > 0 ? `${lines.join('\n')}\n` : 'No processor is connected.\n' };
  },
  connect: async ({ connected, company, flags }) => {
    const { kind, name, timeoutMs, requestLifeMs } = kindOf(flags.processor ?? 'acquirer');
    const timing = {
      timeoutMs: milliseconds(flags['timeout-ms'], '--timeout-ms', timeoutMs),
      requestLifeMs: milliseconds(flags['request-life-ms'], '--request-life-ms', requestLifeMs),
    };
    if (timing.requestLifeMs <= timing.timeoutMs) {
      throw new CommandError('--request-life-ms must be longer than --timeout-ms.');
    }
    const configuration = await configurationFrom(kind, flags);
    const id = flags.connection ?? newId(connected.clock.nowMs());
    const fields = Object.keys(configuration);
    if (flags.connection) await requireKnown(connected, company, flags.connection);
    await auditOperator(connected.shards.of(company).db, company, { action: 'connectProcessor', objectId: id, fields });
    await withVault(connected, (vault) =>
      store(vault, { companyId: company.id, id, kind, configuration: new Secret(configuration), ...timing }),
    );
    // The operator knows whether it is the same account, for example of an acquirer that has another URL now.
    if (flags.connection) await setCompanyConnection(connected.shards.of(company).db, company.id, id, 'moved');
    else {
      const row = { company_id: company.id, id, kind, name: flags.name ?? name };
      await addConnection(connected.shards.of(company).db, { ...row, request_life_ms: timing.requestLifeMs });
    }
    const where = configuration.url === undefined ? name : configuration.url;
    return {
      json: { company_id: company.id, id, processor: kind, url: configuration.url ?? null },
      text: `${company.name} is connected to ${where}. The connection is ${id}.\n`,
    };
  },
  test: async ({ connected, company, flags }) => {
    const id = await chosenConnection(connected, company, flags);
    const result = await withVault(connected, (vault) => vault.test({ companyId: company.id, connectionId: id }));
    if (result.outcome !== 'works') throw new CommandError(result.problem);
    return { json: result, text: `The connection works. The account is ${result.account}.\n` };
  },
  disconnect: async ({ connected, company, flags }) => {
    const id = await chosenConnection(connected, company, flags);
    await auditOperator(connected.shards.of(company).db, company, {
      action: 'disconnectProcessor',
      objectId: id,
      fields: [],
    });
    const isLast = await setCompanyConnection(connected.shards.of(company).db, company.id, id, 'disconnected');
    const text = isLast
      ? 'Disconnected. New orders of this company are rejected.'
      : 'Disconnected. New orders use the other processors.';
    return { json: { company_id: company.id, id, status: 'disconnected' }, text: `${text}\n` };
  },
  remove: async ({ connected, company, flags }) => {
    const id = await chosenConnection(connected, company, flags);
    await requireNothingOpen(connected.shards.of(company).db, company.id, id);
    await auditOperator(connected.shards.of(company).db, company, {
      action: 'removeProcessor',
      objectId: id,
      fields: [],
    });
    await withVault(connected, (vault) => vault.forget({ companyId: company.id, connectionId: id }));
    await setCompanyConnection(connected.shards.of(company).db, company.id, id, 'removed');
    const text = 'Removed. Charges of this connection can no longer be refunded or looked up here.\n';
    return { json: { company_id: company.id, id, status: 'removed' }, text };
  },
  rules: async ({ connected, company, flags }) => {
    const id = await chosenConnection(connected, company, flags);
    const rules = rulesFrom(flags);
    await auditOperator(connected.shards.of(company).db, company, {
      action: 'updateProcessor',
      objectId: id,
      fields: ['rules'],
    });
    await setCompanyConnection(connected.shards.of(company).db, company.id, id, { rules });
    if (flags.first) await orderCompanyConnections(connected.shards.of(company).db, company.id, id);
    return { json: { company_id: company.id, id, rules }, text: `The rules are ${JSON.stringify(rules)}.\n` };
  },
};

export async function processorsCommand([name]: readonly string[], flags: Flags): Promise<string> {
  const action = actions[name ?? ''];
  if (!action) throw new CommandError(`Use processors ${Object.keys(actions).join(', ')}.`);
  return withDatabase(async (connected) => {
    const company = await chosenCompany(connected.shards, flags.company ?? 'live');
    if (company.mode !== 'live')
      throw new CommandError('Sandbox companies cannot connect a processor. Use --company live.');
    try {
      const { json, text } = await action({ connected, company, flags });
      return flags.json ? `${JSON.stringify(json)}\n` : text;
    } catch (error) {
      throw error instanceof ApiError ? new CommandError(error.message) : error;
    }
  });
}

function kindOf(name: string): ReturnType<typeof kindNamed> {
  if (!processorKinds.some(({ kind }) => kind === name)) {
    throw new CommandError(`--processor must be one of ${processorKinds.map(({ kind }) => kind).join(', ')}.`);
  }
  return kindNamed(name);
}

/** Credentials come from a file or the environment: arguments are visible in the list of processes. */
async function configurationFrom(kind: string, flags: Flags): Promise<Configuration> {
  if (kind === 'acquirer' && flags.credentials === undefined) {
    const secret = process.env.SVC_PROCESSOR_SECRET;
    if (!secret)
      throw new CommandError('Set the environment variable SVC_PROCESSOR_SECRET to the secret of the acquirer.');
    return { url: checkedUrl(flags.url), secret };
  }
  const names = kindNamed(kind).fields.map(({ name }) => name);
  const wanted = `--credentials must be a JSON file with the fields ${names.join(', ')}; - reads standard input.`;
  if (flags.credentials === undefined) throw new CommandError(wanted);
  const content = flags.credentials === '-' ? await readAll(process.stdin) : await readFile(flags.credentials, 'utf8');
  try {
    const parsed: unknown = JSON.parse(content);
    const isFlat =
      typeof parsed === 'object' && parsed !== null && Object.values(parsed).every((one) => typeof one === 'string');
    if (isFlat) return parsed as Configuration;
  } catch {
    // The error below says what is needed, without the content.
  }
  throw new CommandError(wanted);
}

async function store(vault: Vault, connection: Parameters<Vault['connect']>[0]): Promise<void> {
  const { companyId, id, kind, configuration, timeoutMs } = connection;
  const problem = await vault.connect({ companyId, id, kind, configuration, timeoutMs });
  if (problem) throw new CommandError(`${problem.field} ${problem.problem}.`);
}

async function requireKnown({ shards }: Connected, company: Company, id: string): Promise<void> {
  if (!(await companyConnections(shards.of(company).db, company.id)).some((row) => row.id === id)) {
    throw new CommandError('--connection must be the ID of a connection. `svc processors list` lists them.');
  }
}

/** Without --connection: the only one that is connected. */
async function chosenConnection(connected: Connected, company: Company, flags: Flags): Promise<string> {
  if (flags.connection) {
    await requireKnown(connected, company, flags.connection);
    return flags.connection;
  }
  const rows = await companyConnections(connected.shards.of(company).db, company.id);
  const [only, other] = rows.filter(({ disconnected_at }) => disconnected_at === null);
  if (!only) throw new CommandError('No processor is connected.');
  if (other) throw new CommandError('Several processors are connected. Name one with --connection ID.');
  return only.id;
}

function rulesFrom(flags: Flags): object {
  const share = flags.share === undefined ? undefined : Number(flags.share);
  if (share !== undefined && !(Number.isInteger(share) && share >= 1 && share <= 100)) {
    throw new CommandError('--share must be a whole number from 1 to 100.');
  }
  const list = (text: string | undefined): string[] | undefined =>
    text?.split(',').map((one) => one.trim().toLowerCase());
  return {
    ...(flags.currencies && { currencies: list(flags.currencies) }),
    ...(flags.brands && { brands: list(flags.brands) }),
    ...(share !== undefined && { share }),
  };
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
