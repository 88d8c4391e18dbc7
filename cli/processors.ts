import { readFile } from 'node:fs/promises';
import { text as readAll } from 'node:stream/consumers';
import type { Static } from 'typebox';
import { type Company, connects } from '../server/company.ts';
import { baseUrlOf } from '../server/config.ts';
import { ApiError } from '../server/errors.ts';
import { requireNewAccount, requireWorking, testToWire } from '../server/features/processors/credentials.ts';
import { connectionRules } from '../server/features/processors/schemas.ts';
import {
  addConnection,
  companyConnections,
  noticeUrl,
  orderCompanyConnections,
  requireNothingOpen,
  requireRoom,
  setCompanyConnection,
} from '../server/features/processors/service.ts';
import { validator } from '../server/http/validate.ts';
import { newId } from '../server/platform/ids.ts';
import { Secret } from '../server/platform/secret.ts';
import type { Configuration } from '../server/vault/processors/kind.ts';
import { kindNamed, processorKinds } from '../server/vault/processors/kinds.ts';
import type { Vault } from '../server/vault/vault.ts';
import { auditOperator } from './audit.ts';
import { chosenCompany } from './chosen-company.ts';
import { CommandError, failureOf, UsageError } from './command-error.ts';
import { type Connected, withDatabase } from './connect.ts';
import { withVault } from './open-vault.ts';
import type { Flags } from './options.ts';
import { tableLines } from './table.ts';

/** `processors …`: the processors that charge the cards of a live company. */

type Action = (given: {
  connected: Connected;
  company: Company;
  flags: Flags;
}) => Promise<{ json: unknown; text: string }>;

const actions: Readonly<Record<string, Action>> = {
  list: async ({ connected, company }) => {
    const rows = await companyConnections(connected.shards.of(company).db, company.id);
    const [headings = '', ...lines] = tableLines(
      ['ID', 'ORDER', 'KIND', 'CHARGES', 'NAME'],
      rows.map((row) => [row.id, orderOf(row), row.kind, chargesText(row.rules), row.name]),
    );
    const shown = rows.map((row, index) => {
      const notices = row.removed_at ? null : noticesTo(connected, row);
      const seen = row.notice_seen_at ? `last notice ${row.notice_seen_at.toISOString()}` : 'no notice yet';
      const refused = row.refused_at && `credentials refused since ${row.refused_at.toISOString()}`;
      const rejected =
        row.rejected_at &&
        `${row.rejected_operation}s refused since ${row.rejected_at.toISOString()}: ${row.rejection}`;
      const wantsCode = row.code_wanted_at && `charges without a CVC refused since ${row.code_wanted_at.toISOString()}`;
      const unlinked = row.unlinked_at && `no network references since ${row.unlinked_at.toISOString()}`;
      const notRead =
        row.notice_refused_at && `notice refused ${row.notice_refused_at.toISOString()}: ${row.notice_refusal}`;
      const more = [
        refused,
        rejected,
        wantsCode,
        unlinked,
        notices === null ? null : `notice URL ${notices}, ${seen}`,
        notRead,
      ];
      return [lines[index], ...more.filter((one) => one !== null)].join('\n    ');
    });
    return {
      json: rows,
      text: rows.length > 0 ? `${[headings, ...shown].join('\n')}\n` : 'No processor is connected.\n',
    };
  },
  connect: async ({ connected, company, flags }) => {
    const replaced = flags.connection === undefined ? undefined : await known(connected, company, flags.connection);
    const { kind, name, timeoutMs, requestLifeMs } = kindOf(flags.processor ?? replaced?.kind ?? 'acquirer');
    requireReplaceable(replaced, kind);
    const timing = {
      timeoutMs: milliseconds(flags['timeout-ms'], '--timeout-ms', timeoutMs),
      requestLifeMs: milliseconds(flags['request-life-ms'], '--request-life-ms', requestLifeMs),
    };
    if (timing.requestLifeMs <= timing.timeoutMs) {
      throw new UsageError('--request-life-ms must be longer than --timeout-ms.');
    }
    const configuration = await configurationFrom(kind, flags);
    const { db } = connected.shards.of(company);
    if (!replaced) await requireRoom(db, company.id);
    const id = replaced?.id ?? newId(connected.clock.nowMs());
    const fields = Object.keys(configuration);
    const account_id = await withVault(connected, async (vault) => {
      const account = await requireWorking(vault, company, { kind, configuration });
      await requireNewAccount(db, vault, { companyId: company.id, kind, replacedId: replaced?.id }, account);
      await auditOperator(db, company, { action: 'connectProcessor', objectId: id, fields });
      await store(vault, { companyId: company.id, id, kind, configuration: new Secret(configuration), ...timing });
      return account.id;
    });
    // The operator knows whether it is the same account, for example of an acquirer that has another URL now.
    if (replaced) await setCompanyConnection(db, company.id, id, { movedTo: account_id });
    else {
      const row = { company_id: company.id, id, kind, name: flags.name ?? name, account_id };
      await addConnection(db, { ...row, request_life_ms: timing.requestLifeMs });
    }
    const where = configuration.url === undefined ? name : configuration.url;
    const notices = noticesTo(connected, { kind, id });
    const text = `${company.name} is connected to ${where}. The connection is ${id}.\n`;
    return {
      json: { company_id: company.id, id, processor: kind, url: configuration.url ?? null, notice_url: notices },
      text: notices === null ? text : `${text}Enter this notice URL at the processor: ${notices}\n`,
    };
  },
  test: async ({ connected, company, flags }) => {
    const { id, kind } = await chosenConnection(connected, company, flags);
    const result = await withVault(connected, (vault) => vault.test({ companyId: company.id, connectionId: id }));
    const { works, account, problem } = testToWire(result, { ...company, kind });
    if (!works) throw new CommandError(problem ?? '');
    return { json: result, text: `The connection works. The account is ${account}.\n` };
  },
  disconnect: async ({ connected, company, flags }) => {
    const { id } = await chosenConnection(connected, company, flags);
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
  reconnect: async ({ connected, company, flags }) => {
    const { id, removed_at } = await chosenConnection(connected, company, flags, 'disconnected');
    if (removed_at) throw new CommandError(credentialsRemoved);
    const { db } = connected.shards.of(company);
    await auditOperator(db, company, { action: 'reconnectProcessor', objectId: id, fields: [] });
    await setCompanyConnection(db, company.id, id, 'connected');
    const text = 'Connected. New orders use this processor after the others.\n';
    return { json: { company_id: company.id, id, status: 'connected' }, text };
  },
  remove: async ({ connected, company, flags }) => {
    const { id } = await chosenConnection(connected, company, flags, 'disconnected');
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
    const { id } = await chosenConnection(connected, company, flags);
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
  if (!action) throw new UsageError(`Use processors ${Object.keys(actions).join(', ')}.`);
  return withDatabase(async (connected) => {
    const company = await chosenCompany(connected.shards, flags.company ?? 'live');
    if (!connects(company.mode))
      throw new CommandError(
        'Sandbox companies cannot connect a processor. Use --company live, or --company rehearsal.',
      );
    try {
      const { json, text } = await action({ connected, company, flags });
      return flags.json ? `${JSON.stringify(json)}\n` : text;
    } catch (error) {
      throw error instanceof ApiError ? new CommandError(error.message, failureOf(error.status)) : error;
    }
  });
}

export function kindOf(name: string): ReturnType<typeof kindNamed> {
  if (!processorKinds.some(({ kind }) => kind === name)) {
    throw new UsageError(`--processor must be one of ${processorKinds.map(({ kind }) => kind).join(', ')}.`);
  }
  return kindNamed(name);
}

/** Credentials come from a file or the environment: arguments are visible in the list of processes. */
export async function configurationFrom(kind: string, flags: Flags): Promise<Configuration> {
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

type Row = Awaited<ReturnType<typeof companyConnections>>[number];

/** In which order the connections are tried, or why one is not. */
const orderOf = ({ removed_at, disconnected_at, position }: Row): string =>
  removed_at ? 'removed' : disconnected_at ? 'disconnected' : `${position}.`;

function chargesText({ currencies, brands, share }: Row['rules']): string {
  const rules = [currencies?.join(','), brands?.join(','), share === undefined ? undefined : `${share}%`];
  return rules.filter((rule) => rule !== undefined).join(' ') || 'all';
}

const credentialsRemoved = 'The credentials of this connection were removed. Connect the processor again.';

/** The credentials of one kind mean nothing to another, and the payments of the connection would be lost with the old ones. */
function requireReplaceable(replaced: Row | undefined, kind: string): void {
  if (!replaced) return;
  if (replaced.removed_at) throw new CommandError(`${credentialsRemoved} Leave out --connection.`);
  if (replaced.kind !== kind) {
    throw new CommandError(
      `The connection is of ${replaced.kind}. To connect ${kind} as well, leave out --connection.`,
    );
  }
}

function noticesTo({ config }: Connected, { kind, id }: Pick<Row, 'kind' | 'id'>): string | null {
  return kindNamed(kind).sendsNotices ? noticeUrl(baseUrlOf(config, config.PORT), id) : null;
}

async function known({ shards }: Connected, company: Company, id: string): Promise<Row> {
  const rows = await companyConnections(shards.of(company).db, company.id);
  const row = rows.find((one) => one.id === id.toLowerCase());
  if (!row) throw new UsageError('--connection must be the ID of a connection. `svc processors list` lists them.');
  return row;
}

/** Without --connection: the only one with this status. */
export async function chosenConnection(
  connected: Connected,
  company: Company,
  flags: Flags,
  status: 'connected' | 'disconnected' = 'connected',
): Promise<Row> {
  if (flags.connection) return known(connected, company, flags.connection);
  const rows = await companyConnections(connected.shards.of(company).db, company.id);
  const [only, other] = rows.filter(
    ({ disconnected_at, removed_at }) => !removed_at && (disconnected_at === null) === (status === 'connected'),
  );
  if (!only) throw new CommandError(`No processor is ${status}.`);
  if (other) throw new CommandError(`Several processors are ${status}. Name one with --connection ID.`);
  return only;
}

const checkRules = validator(connectionRules);

function rulesFrom(flags: Flags): Static<typeof connectionRules> {
  const list = (text: string): string[] => text.split(',').map((one) => one.trim().toLowerCase());
  try {
    return checkRules({
      ...(flags.currencies !== undefined && { currencies: list(flags.currencies) }),
      ...(flags.brands !== undefined && { brands: list(flags.brands) }),
      ...(flags.share !== undefined && { share: Number(flags.share) }),
    });
  } catch (error) {
    throw error instanceof ApiError ? new UsageError(`--${error.message}.`) : error;
  }
}

function checkedUrl(text: string | undefined): string {
  const url = text && URL.canParse(text) ? new URL(text) : undefined;
  if (!url || !/^https?:$/.test(url.protocol))
    throw new UsageError('--url must be the http or https URL of the acquirer.');
  return url.href;
}

function milliseconds(text: string | undefined, flag: string, fallback: number): number {
  if (text === undefined) return fallback;
  const value = Number(text);
  if (!Number.isInteger(value) || value < 1)
    throw new UsageError(`${flag} must be a whole number of milliseconds, for example 10000.`);
  return value;
}
