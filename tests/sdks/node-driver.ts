import { createInterface } from 'node:readline';
import { inspect } from 'node:util';
import { responseOf, Svc, SvcError, type SvcOptions, versionOf, webhooks } from '../../sdk/node/src/index.ts';
import { queryParameters, snakeCase } from '../../sdk/generator/client.ts';
import { operations } from '../../sdk/generator/document.ts';
import { methodNames } from '../../sdk/generator/names.ts';

/** The driver of the Node SDK: see driver.ts. */

interface Command {
  readonly do: string;
  readonly client?: string;
  readonly method?: string;
  readonly ids?: readonly string[];
  readonly body?: Record<string, unknown>;
  readonly query?: Record<string, unknown>;
  readonly options?: Record<string, unknown>;
  readonly [name: string]: unknown;
}

type Method = (...parameters: unknown[]) => Promise<object>;

const clients = new Map<string, Svc>();
const shown: string[] = [];

const optionNames: Readonly<Record<string, string>> = {
  idempotency_key: 'idempotencyKey',
  if_match: 'ifMatch',
  timeout_ms: 'timeoutMs',
  retry_for_ms: 'retryForMs',
  max_retries: 'maxRetries',
};
const renamed = (options: Record<string, unknown> = {}): Record<string, unknown> =>
  Object.fromEntries(Object.entries(options).map(([name, value]) => [optionNames[name] ?? name, value]));

function clientOf({ client = 'main' }: Command): Svc {
  const found = clients.get(client);
  if (!found) throw new Error(`there is no client ${client}`);
  return found;
}

function methodOf(command: Command): Method {
  const names = (command.method ?? '').split('.');
  let owner: object = clientOf(command);
  for (const name of names.slice(0, -1)) owner = (owner as Record<string, object>)[name] as object;
  const method = (owner as Record<string, Method>)[names.at(-1) ?? ''];
  if (!method) throw new Error(`there is no method ${command.method}`);
  return (...parameters) => method.apply(owner, parameters);
}

const operationAt = new Map(operations.map((operation) => [methodNames[operation.id], operation]));

/** Parameters are positional: a body or a query that the command does not have is left out with undefined. */
function parametersOf({ method = '', ids = [], body, query, file, options }: Command): unknown[] {
  const operation = operationAt.get(method);
  const content = typeof file === 'string' ? [Buffer.from(file, 'base64')] : [];
  const hasQuery = operation !== undefined && queryParameters(operation).length > 0;
  const input = [...(operation?.body ? [body] : []), ...(hasQuery ? [query] : [])];
  return [...ids, ...content, ...input, ...(options ? [renamed(options)] : [])];
}

const actions: Readonly<Record<string, (command: Command) => unknown>> = {
  client(command) {
    const settings = { ...renamed(command.options), baseUrl: command.base_url, hooks } as SvcOptions;
    clients.set((command.name as string | undefined) ?? 'main', new Svc(command.key as string, settings));
    return null;
  },
  async call(command) {
    const method = methodOf(command);
    return method(...parametersOf(command));
  },
  async list(command) {
    const found: unknown[] = [];
    const items = methodOf(command)(...parametersOf(command)) as unknown as AsyncIterable<{ id: string }>;
    for await (const { id } of items) {
      found.push(id);
      if (found.length === command.take) break;
    }
    return { ids: found, count: new Set(found).size };
  },
  raw: (command) =>
    clientOf(command).request(
      command.http_method as 'GET',
      command.path as '/',
      { body: command.body, query: command.query },
      renamed(command.options),
    ),
  async verify({ body, headers, secret, tolerance_s: toleranceSeconds, now_s: nowSeconds }) {
    const options = { toleranceSeconds: toleranceSeconds as number, nowMs: Number(nowSeconds) * 1_000 };
    const event = await webhooks.verify(
      body as unknown as string,
      headers as Record<string, string>,
      secret as string[],
      options,
    );
    return { ...event };
  },
  sign: ({ event, secret, timestamp_s: timestampSeconds }) =>
    webhooks.signTestEvent(event as never, secret as string[], { timestampSeconds: timestampSeconds as number }),
  hooks: () => null,
  show: (command) => {
    shown.push(inspect(clientOf(command), { showHidden: true, depth: 8 }), JSON.stringify(clientOf(command)));
    return null;
  },
};

const hooks: SvcOptions['hooks'] = {
  beforeRequest: (request) => void shown.push(inspect(request)),
  afterResponse: (response) => void shown.push(inspect(response)),
};

const shownTypes: Readonly<Record<string, (value: unknown) => boolean>> = {
  integer: Number.isSafeInteger,
  // Times are texts in JavaScript.
  time: (value) => typeof value === 'string' && /^\d{4}-\d\d-\d\dT[\d:.]+Z$/.test(value),
  date: (value) => typeof value === 'string' && /^\d{4}-\d\d-\d\d$/.test(value),
  text: (value) => typeof value === 'string',
};

function typesOf(result: unknown, wanted: object): Record<string, string> {
  const typeAt = (path: string): string => {
    const value = path.split('.').reduce((found: unknown, name) => (found as Record<string, unknown>)?.[name], result);
    return Object.entries(shownTypes).find(([, is]) => is(value))?.[0] ?? typeof value;
  };
  return Object.fromEntries(Object.keys(wanted).map((path) => [path, typeAt(path)]));
}

function seenError(error: unknown): Record<string, unknown> {
  shown.push(inspect(error));
  if (!(error instanceof SvcError)) return { class: 'UsageError', message: (error as Error).message };
  const { name, code, type, message, param, status, requestId, fieldErrors, retryAfterSeconds, idempotencyKey } = error;
  const facts = { code, type, message, param, status, requestId, fieldErrors, idempotencyKey };
  const named = Object.entries(facts).map(([fact, value]) => [snakeCase(fact), value ?? null]);
  return { class: name, ...Object.fromEntries(named), retry_after_s: retryAfterSeconds ?? null };
}

for await (const line of createInterface({ input: process.stdin })) {
  const command = JSON.parse(line) as Command;
  let answer: Record<string, unknown>;
  try {
    const action = actions[command.do];
    if (!action) throw new Error(`this driver cannot ${command.do}`);
    const result = await action(command);
    const response = typeof result === 'object' && result ? responseOf(result) : undefined;
    if (result) shown.push(inspect(response));
    answer = {
      result,
      ...(command.types ? { types: typesOf(result, command.types) } : {}),
      ...(response && {
        response: { status: response.status, request_id: response.requestId, version: versionOf(result as object) },
      }),
    };
  } catch (error) {
    answer = { error: seenError(error) };
  }
  process.stdout.write(`${JSON.stringify({ ...answer, shown: shown.join('\n') })}\n`);
}
