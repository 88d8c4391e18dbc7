import { resolve } from 'node:path';
import { limits } from './limits.ts';
import { ConfigurationError } from './platform/configuration-error.ts';
import { closest } from './platform/suggest.ts';
import { conflicts } from './setting-conflicts.ts';
import {
  addressRanges,
  choice,
  contact,
  days,
  demo,
  hostAddress,
  hostsAndPorts,
  integer,
  mailbox,
  optional,
  pageLimit,
  rateLimit,
  secret,
  secretUrl,
  shards,
  text,
  url,
  urls,
  type Setting,
} from './setting-kinds.ts';
import { destinationsOf } from './platform/telemetry/settings.ts';
import { fileVariableOf, givenText, telemetryHeaders } from './setting-values.ts';

/** Every setting of the service. `docs/configuration.md` is generated from this table, and a test compares both. */

const roles = ['api', 'worker', 'vault'] as const;
type ProcessRole = (typeof roles)[number];

const roleList: Setting<readonly ProcessRole[]> = {
  fallback: roles.join(','),
  describe: 'Roles of this process: `api` serves HTTP, `worker` runs background jobs, `vault` stores the cards.',
  parse: (value) => {
    const named = value.split(',').map((part) => part.trim());
    const found = roles.filter((role) => named.includes(role));
    if (found.length !== named.length)
      throw new ConfigurationError(`must be a comma-separated list of ${roles.join(', ')}`);
    return found;
  },
};

export const settings = {
  PORT: integer(8080, 0, 65535, 'Port of the HTTP server. `0` uses a free port.'),
  HOST: hostAddress('127.0.0.1', 'IP address or host name of this machine that the HTTP server listens on.'),
  SVC_BASE_URL: url(['http', 'https'], 'Public URL of the service, used in links. Default: `http://HOST:PORT`.'),
  SVC_ROLES: roleList,
  SVC_DATA_DIR: text('.svc', 'Folder for the embedded PostgreSQL, generated secrets, images and `demo.json`.'),
  SVC_MASTER_SECRET: secret(
    'Secret of at least 32 characters, from which all keys except the vault keys are derived. Required with ' +
      '`DATABASE_URL`. Must be the same for every process. With the embedded PostgreSQL, the first start generates one in `$SVC_DATA_DIR/master.secret`.',
  ),
  SVC_MASTER_SECRET_PREVIOUS: secret(
    'The master secret before this one, while you change it: see [Secrets](secrets.md). Default: none.',
  ),
  SVC_DEMO: demo(
    '`1` creates the demo company with [sample data](sample-data.md) in the database of `DATABASE_URL`, `empty` creates it without. ' +
      'With the embedded PostgreSQL, it is always created; default: with sample data.',
  ),
  DATABASE_URL: secretUrl(
    ['postgres', 'postgresql'],
    'URL of the PostgreSQL database (version 15 or newer). Default: the embedded PostgreSQL.',
  ),
  SVC_SHARDS: shards(
    'Further PostgreSQL servers that companies are spread over, as `name=URL`, separated by spaces: ' +
      '`b=postgres://… c=postgres://…`. `DATABASE_URL` is the shard `a` and has the users. Must be the same for every process. ' +
      'Default: none. See [Scaling](scaling.md).',
  ),
  SVC_POOL_URL: secretUrl(
    ['postgres', 'postgresql'],
    'URL of a pooler in transaction mode in front of the database, such as PgBouncer. Statements go through it; what needs a connection of its own ' +
      'uses `DATABASE_URL`. Default: none. See [Scaling](scaling.md#a-pooler).',
  ),
  SVC_POOL_SHARDS: shards('Poolers in front of the shards in `SVC_SHARDS`, in the same form. Default: none.'),
  SVC_READ_URL: secretUrl(
    ['postgres', 'postgresql'],
    'URL of a streaming standby of the database. Lists, searches, figures and exports read from it while it has every write that was ' +
      'answered before. Default: none; everything reads from `DATABASE_URL`. See [Scaling](scaling.md#a-replica-for-reads).',
  ),
  SVC_READ_SHARDS: shards('Standbys of the shards in `SVC_SHARDS`, in the same form. Default: none.'),
  SVC_READ_WAIT_MS: integer(
    50,
    1,
    5_000,
    'How long a read waits for a standby that is behind, before it uses the primary instead.',
  ),
  SVC_VAULT_SHARDS: shards('The shards with the login of the vault, as in `SVC_SHARDS`. Default: `SVC_SHARDS`.'),
  SVC_VAULT_DATABASE_URL: secretUrl(
    ['postgres', 'postgresql'],
    'URL of the same database with the login of the vault. A process with only the role `vault` needs no `DATABASE_URL`. ' +
      'Default: `DATABASE_URL`; cards are then less protected, because every process can read the encrypted cards. ' +
      'The embedded PostgreSQL always uses separate logins.',
  ),
  SVC_VAULT_KEYS: secret(
    'Vault keys as JSON. Default: the file `$SVC_DATA_DIR/vault.keys`, which the first start creates.',
  ),
  SVC_VAULT_URL: urls(
    'URL of the vault, for processes without the role `vault`. Several URLs (comma-separated) name vaults with the same ' +
      'database and keys; if one does not accept a connection, the next one is used.',
  ),
  SVC_VAULT_TOKEN: secret(
    'Token of at least 32 characters for calls to a separate vault. Must be the same for the vault and for its callers.',
  ),
  SVC_VAULT_TOKEN_PREVIOUS: secret(
    'A second token that the vault accepts, while you change `SVC_VAULT_TOKEN`: see [Secrets](secrets.md). Default: none.',
  ),
  SVC_VAULT_PORT: integer(8081, 0, 65535, 'Port of a separate vault.'),
  SVC_HEALTH_PORT: integer(
    0,
    0,
    65535,
    'Port for `/healthz`, `/readyz` and `/metrics` of a `worker` without the role `api`. `0` turns it off.',
  ),
  SVC_DATABASE_POOL: integer(10, 1, 500, 'Maximum number of PostgreSQL connections for the requests of one process.'),
  SVC_DATABASE_CONNECTIONS: integer(
    200,
    20,
    10_000,
    'With `SVC_SHARDS`: maximum number of PostgreSQL connections of one process to all shards together. A shard without requests and jobs has none.',
  ),
  SVC_DATABASE_TIMEOUT_MS: integer(
    15_000,
    500,
    600_000,
    'Timeout of an SQL statement. If a connection does not respond within 120% of this time, it is replaced.',
  ),
  SVC_TRUST_PROXY: addressRanges(
    'IP addresses or CIDR ranges (comma-separated) of proxies whose `X-Forwarded-For` and `X-Forwarded-Host` are trusted. Default: none.',
  ),
  SVC_WEBHOOK_ALLOW: addressRanges(
    'Non-public IP addresses or CIDR ranges (comma-separated) that webhooks can be sent to. Default: none.',
  ),
  SVC_WEBHOOK_CA: optional('PEM file with additional certificate authorities for webhook endpoints.'),
  SMTP_URL: secretUrl(
    ['smtp', 'smtps'],
    'Mail server, for example `smtps://user:password@mail.example.com`. Default: none; emails are listed by `svc mails` and, on your own machine, on the page `/mailbox`.',
  ),
  SVC_SECURITY_CONTACT: contact(
    'Where to report vulnerabilities of your installation, shown at `/.well-known/security.txt`: an email address or an https URL. ' +
      'Default: none; the file does not exist.',
  ),
  SVC_BRAND_NAME: text(
    'Svc',
    'Name of your installation, shown in the dashboard, the guides, the API reference and emails to your team.',
  ),
  SVC_BRAND_LOGO: optional(
    'File (SVG or PNG, at most 100 kB, square) with the logo beside this name, and the icon of the browser tab. Default: the logo of Svc.',
  ),
  SVC_SIGN_UP: choice(
    'on',
    ['on', 'off'],
    'Whether new merchants can sign up in the dashboard. With `off`, people need an invitation.',
  ),
  SVC_ACQUIRERS: urls(
    'URLs (comma-separated) of acquirers that merchants can connect in the dashboard. ' +
      'Default: none; the operator connects them with `svc processors connect`.',
  ),
  SVC_PROCESSOR_ORIGINS: urls(
    'Origins (comma-separated) that connections to processors may use beside the hosts of their kind, for example the test host of a processor. ' +
      'The vault sends card data only to the hosts of its kinds, to these, and to acquirers.',
  ),
  SVC_DECLINES_VISA: integer(
    limits.declines.visa,
    1,
    19,
    'After how many declines in 30 days a Visa card is not sent to a processor any more. With and without the customer are counted apart. Visa charges fees from 20 on. For the vault.',
  ),
  SVC_DECLINES_MASTERCARD_DAILY: integer(
    limits.declines.mastercardDaily,
    1,
    9,
    'After how many declines in 24 hours a Mastercard is not sent any more. Mastercard charges fees from 10 on. For the vault.',
  ),
  SVC_DECLINES_MASTERCARD_AMOUNT: integer(
    limits.declines.mastercardOfAmount,
    1,
    34,
    'After how many declines of one amount in 30 days a Mastercard is not sent any more. Mastercard charges fees from 35 on. For the vault.',
  ),
  SVC_RECEIPT_FONT: optional(
    'Font file (TTF or OTF) for characters of receipts that the built-in fonts lack, for example those of a rare script. The built-in fonts have the scripts of 25 languages and more, Chinese, Japanese, Korean and Arabic included.',
  ),
  SVC_MAIL_FROM: mailbox(
    'svc@localhost',
    'Sender address of emails, with or without a name: `Your Shop <svc@example.com>`.',
  ),
  SVC_LOG_LEVEL: choice(
    'info',
    ['trace', 'debug', 'info', 'warn', 'error', 'silent'],
    'Lowest level of log lines to write.',
  ),
  SVC_REQUEST_LOG: choice(
    'on',
    ['on', 'off'],
    'Whether to keep API requests for seven days, with cards and secrets masked, for `GET /v1/requests` and the dashboard.',
  ),
  SVC_RATE_LIMIT_GLOBAL: rateLimit('1000/10', 'All requests per company.'),
  SVC_RATE_LIMIT_READ: rateLimit('800/10', 'Reads per company.'),
  SVC_RATE_LIMIT_WRITE: rateLimit('500/10', 'Writes per company.'),
  SVC_RATE_LIMIT_PAGES: pageLimit(
    'Requests of all visitors to the pages of one company, which protects the pages of other companies. `auto` is ' +
      `${limits.pageRequestsPerProcessor.count.toLocaleString('en')} for each processor of the machine in ` +
      `${limits.pageRequestsPerProcessor.windowSeconds} seconds.`,
  ),
  SVC_RATE_LIMIT_COUPON_VALIDATION: rateLimit('200/10', 'Coupon validations per company.'),
  SVC_RATE_LIMIT_CAPTURE: rateLimit('200/10', 'Card captures per company.'),
  SVC_RATE_LIMIT_REFUSED_CARDS: rateLimit(
    `${limits.refusedCards.count}/${limits.refusedCards.windowSeconds}`,
    'Rejected cards. Counted per IP address with a publishable key, per customer and per card with a secret key.',
  ),
  SVC_AGENT_APPROVALS_PER_DAY: integer(
    100,
    0,
    10_000,
    'How many live changes an agent can ask a person to approve: per API key, in 24 hours. `0` turns live changes of agents off.',
  ),
  SVC_RATE_LIMIT_STORE: choice(
    '',
    ['memory', 'postgres', 'redis'],
    'Where rate limits are counted. Default: `redis` if `REDIS_URL` is set, otherwise `memory`. Use `postgres` ' +
      'or `redis` if several processes serve the API.',
  ),
  REDIS_URL: secretUrl(['redis', 'rediss'], 'Redis for shared rate limits.'),
  SVC_REDIS_SENTINELS: hostsAndPorts(
    'Redis Sentinels (comma-separated), for example `10.0.0.1:26379,10.0.0.2:26379`. The host in `REDIS_URL` is then the name of the primary that they watch.',
  ),
  S3_ENDPOINT: url(
    ['http', 'https'],
    'S3-compatible server for images, for example `https://s3.eu-central-1.amazonaws.com`.',
  ),
  S3_PUBLIC_ENDPOINT: url(['http', 'https'], 'URL of the same server for browsers. Default: `S3_ENDPOINT`.'),
  S3_REGION: text('us-east-1', 'Region of the bucket.'),
  S3_BUCKET: optional('Bucket for images. Used with `S3_ENDPOINT`, instead of the data folder.'),
  S3_ACCESS_KEY_ID: optional('Access key of the bucket.'),
  S3_SECRET_ACCESS_KEY: secret('Secret of the access key.'),
  SVC_MAX_EVENT_LOOP_DELAY_MS: integer(
    100,
    0,
    60_000,
    'If the event loop is delayed by more than this many milliseconds, the service runs fewer requests at the same time and ' +
      'rejects requests that would wait too long with 503. `0` turns admission control off.',
  ),
  SVC_BACKUP_PATH: optional(
    'File or folder with the backups. `svc status` and the metric `svc_backup_age_seconds` show the age of the newest one.',
  ),
  SVC_AUDIT_DAYS: days(
    400,
    365,
    'For how many days the audit log keeps what people and operators did. `0` keeps it for ever.',
  ),
  SVC_AUDIT_KEY_DAYS: days(
    90,
    30,
    'For how many days the audit log keeps what API keys did: at least one entry for each order. `0` keeps it for ever.',
  ),
  SVC_MAIL_DAYS: days(
    30,
    30,
    'For how many days the list of emails is kept. The text of an email is deleted as soon as it is sent. `0` keeps the list for ever.',
  ),
  SVC_SHUTDOWN_SECONDS: integer(
    10,
    1,
    600,
    'How long the process waits for requests in progress after a stop signal, in seconds.',
  ),
} as const satisfies Record<string, Setting<unknown>>;

type Settings = typeof settings;
type Environment = { readonly [Name in keyof Settings]: ReturnType<Settings[Name]['parse']> };
export type Config = Environment & { readonly dataDir: string };

export function loadConfig(environment: NodeJS.ProcessEnv): Config {
  const problems: string[] = [];
  const values: Record<string, unknown> = {};
  const checked = (read: () => unknown): unknown => {
    try {
      return read();
    } catch (error) {
      if (!(error instanceof ConfigurationError)) throw error;
      return void problems.push(error.message);
    }
  };
  for (const [name, setting] of Object.entries<Setting<unknown>>(settings)) {
    values[name] = checked(() => valueOf(environment, name, setting));
  }
  // The telemetry reads the standard variables itself, after the data folder is created.
  checked(() => destinationsOf(environment));
  checked(() => telemetryHeaders(environment));
  const config = { ...(values as Environment), dataDir: resolve(String(values.SVC_DATA_DIR)) };
  // Only if all values are valid.
  if (problems.length === 0) problems.push(...conflicts(config));
  if (problems.length > 0) throw new ConfigurationError(problems.join('\n'));
  return config;
}

function valueOf(environment: NodeJS.ProcessEnv, name: string, setting: Setting<unknown>): unknown {
  const given = givenText(environment, name, setting) ?? setting.fallback;
  try {
    return setting.parse(given);
  } catch (error) {
    if (!(error instanceof ConfigurationError)) throw error;
    throw new ConfigurationError(`${name} ${error.message}.`, { cause: error });
  }
}

/** Every variable that the service reads: the settings, and for secrets the names of files. */
export const variables: readonly string[] = Object.entries<Setting<unknown>>(settings).flatMap(
  ([name, { isSecret }]) => (isSecret ? [name, fileVariableOf(name)] : [name]),
);

/** A setting that is no secret is not read from a file. */
const settingOfFile = (name: string): string | undefined =>
  Object.keys(settings).find((setting) => fileVariableOf(setting) === name);

/** Variables that the launcher, the `svc` command and the example shop read, and tests set. The service itself ignores them. */
const otherPrograms =
  /^SVC_(NODE|URL|KEY|PROFILE|PUBLISHABLE_KEY|PLAN_ID|RECEIVER_URL|WEBHOOK_SECRET|PROCESSOR_SECRET|FAILPOINTS?|TEST_\w+)$/;

interface UnknownSetting {
  readonly name: string;
  /** The most similar setting, if one is similar enough. */
  readonly meant: string | undefined;
}

/**
 * Variables that look like settings and are none. The service starts nevertheless: an older version must run with the
 * settings of a newer one, and Kubernetes sets such names for a service whose name begins with `svc`.
 */
export function unknownSettings(environment: NodeJS.ProcessEnv): UnknownSetting[] {
  return Object.keys(environment)
    .filter((name) => name.startsWith('SVC_') && !variables.includes(name) && !otherPrograms.test(name))
    .toSorted()
    .map((name) => ({ name, meant: settingOfFile(name) ?? closest(name, variables) }));
}

export function baseUrlOf(config: Config, port: number): string {
  const host = config.HOST.includes(':') ? `[${config.HOST}]` : config.HOST;
  return (config.SVC_BASE_URL ?? `http://${host}:${port}`).replace(/\/$/, '');
}
