import pg from 'pg';
import { maskCardNumbers } from './card-digits.ts';

/**
 * The fields of a log line, by the names of OpenTelemetry. `docs/observability.md` lists them from these tables.
 * Raise the version if a field of a line is renamed, removed or changes its type.
 */

export const logFormatVersion = 1;

/** The fields of a line, in their order. */
export const lineFields: Readonly<Record<string, string>> = {
  severity_text: '`TRACE`, `DEBUG`, `INFO`, `WARN`, `ERROR` or `FATAL`',
  severity_number: '1, 5, 9, 13, 17 or 21, in the same order',
  timestamp: 'time in UTC, for example `2026-11-18T10:15:00.123Z`',
  trace_id: 'trace of the request or charge, if traces are sent',
  span_id: 'span within the trace',
  log_format: `version of these fields: ${logFormatVersion}`,
  attributes: 'details, see below; absent if there are none',
  body: 'what happened, for example `request`',
};

interface Attribute {
  /** The name in the line. */
  readonly name: string;
  readonly meaning: string;
}

/** The names that OpenTelemetry defines, and those that traces use too. All others get the prefix `svc.`. */
export const attributeNames: Readonly<Record<string, Attribute>> = {
  method: { name: 'http.request.method', meaning: 'HTTP method of a request' },
  route: { name: 'http.route', meaning: 'pattern of its path' },
  status: { name: 'http.response.status_code', meaning: 'HTTP status of the response' },
  company: { name: 'svc.company', meaning: 'ID of the company' },
  company_id: { name: 'svc.company', meaning: 'ID of the company' },
  user_id: { name: 'user.id', meaning: 'ID of a user of the dashboard' },
  url: { name: 'url.full', meaning: 'address of the service, in the line `ready`' },
  version: { name: 'service.version', meaning: 'version of the service' },
  pid: { name: 'process.pid', meaning: 'ID of the process' },
  address: { name: 'client.address', meaning: 'IP address of a process that the vault refused' },
  file: { name: 'file.path', meaning: 'path of a file' },
};

/** What a line has of an error. The last three are those of a database error. */
export const exceptionNames = {
  type: { name: 'exception.type', meaning: 'class of an error' },
  message: { name: 'exception.message', meaning: 'its message; card numbers are masked' },
  stack: { name: 'exception.stacktrace', meaning: 'its stack; card numbers are masked' },
  code: { name: 'db.response.status_code', meaning: 'SQLSTATE of a database error' },
  table: { name: 'db.collection.name', meaning: 'its table' },
  constraint: { name: 'svc.constraint', meaning: 'the constraint that it violates' },
} as const satisfies Readonly<Record<string, Attribute>>;

/** Severities of OpenTelemetry by the name of the level. */
const severities: Readonly<Record<string, number>> = { trace: 1, debug: 5, info: 9, warn: 13, error: 17, fatal: 21 };

export const severityOf = (level: string): object => ({
  severity_text: level.toUpperCase(),
  severity_number: severities[level],
});

/** The code has few names, so each is put together once. */
const names = new Map(Object.entries(attributeNames).map(([key, { name }]) => [key, name]));

function nameOf(key: string): string {
  const known = names.get(key);
  if (known !== undefined) return known;
  const name = `svc.${key}`;
  names.set(key, name);
  return name;
}

/** Replaces the names in the code by those in the line. */
export function attributesOf(fields: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const attributes: Record<string, unknown> = {};
  for (const key in fields) {
    if (key === 'err') describeError(attributes, fields[key]);
    else attributes[nameOf(key)] = fields[key];
  }
  return attributes;
}

/**
 * Selects the fields of an error that are safe to log. A database error's `detail` quotes the row, so it is left out;
 * other fields may quote a value.
 */
function describeError(attributes: Record<string, unknown>, error: unknown): void {
  if (!(error instanceof Error)) {
    attributes[exceptionNames.message.name] = 'a non-error was thrown';
    return;
  }
  attributes[exceptionNames.type.name] = error.name;
  attributes[exceptionNames.message.name] = maskCardNumbers(error.message);
  attributes[exceptionNames.stack.name] = maskCardNumbers(error.stack ?? '');
  if (!(error instanceof pg.DatabaseError)) return;
  attributes[exceptionNames.code.name] = error.code;
  attributes[exceptionNames.table.name] = error.table;
  attributes[exceptionNames.constraint.name] = error.constraint;
}
