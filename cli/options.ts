import type { parseArgs } from 'node:util';

/** Every option of every command. Help, completion and docs/cli.md are generated from this and from `commands.ts`. */

interface Declaration {
  readonly type: 'string' | 'boolean';
  readonly short?: string;
  readonly multiple?: boolean;
  /** The placeholder of its value in the help. */
  readonly value?: string;
  readonly describe: string;
}

export const options = {
  company: {
    type: 'string',
    value: 'demo|rehearsal|live|ID',
    describe: 'company name or ID; use the ID if there are several merchants',
  },
  shard: { type: 'string', value: 'NAME', describe: 'name of the shard; default: the only one, or all for a list' },
  'all-shards': {
    type: 'boolean',
    describe: 'doctor: also compare the control plane with every shard; status: show each of many shards',
  },
  to: { type: 'string', value: 'NAME', describe: 'name of the shard that the companies move to' },
  abort: { type: 'boolean', describe: 'end a move that has not switched yet, and remove what has arrived' },
  'dry-run': { type: 'boolean', describe: 'show the moves, and move nothing' },
  apply: { type: 'boolean', describe: 'move the companies, one account after the other' },
  kind: { type: 'string', value: 'secret|publishable', describe: 'type of the key; default: secret' },
  name: {
    type: 'string',
    value: 'TEXT',
    describe: 'name of the key or the connection; default: "command line", or the name of the processor',
  },
  permissions: { type: 'string', value: 'a:read,b:write', describe: 'permissions of the key; default: all' },
  'expires-in': { type: 'string', value: 'SECONDS', describe: 'lifetime of the key; default: never expires' },
  'allow-ip': {
    type: 'string',
    multiple: true,
    value: 'CIDR[,CIDR…]',
    describe: 'addresses that can use the key; default: any',
  },
  url: { type: 'string', value: 'URL', describe: 'URL of the acquirer' },
  'timeout-ms': { type: 'string', value: 'N', describe: 'timeout of a charge; default: 10000' },
  'request-life-ms': {
    type: 'string',
    value: 'N',
    describe: 'time after which the acquirer no longer executes a request; default: 60000',
  },
  processor: {
    type: 'string',
    value: 'acquirer|stripe|nmi|adyen',
    describe: 'kind of the processor; default: acquirer',
  },
  credentials: {
    type: 'string',
    value: 'FILE|-',
    describe: 'JSON file with the fields of the processor; - reads standard input',
  },
  connection: { type: 'string', value: 'ID', describe: 'ID of the connection; default: the only one' },
  currency: {
    type: 'string',
    value: 'usd',
    describe: 'currency of the payments; default: the first of the rules, or usd',
  },
  currencies: { type: 'string', value: 'usd,eur', describe: 'take only charges in these currencies; default: all' },
  brands: { type: 'string', value: 'visa,mastercard', describe: 'take only cards of these brands; default: all' },
  share: { type: 'string', value: 'PERCENT', describe: 'take this part of the charges; default: 100' },
  first: { type: 'boolean', describe: 'try this connection before the others' },
  number: { type: 'string', value: 'DIGITS', describe: 'number of the test card' },
  code: { type: 'string', value: 'CODE', describe: 'failure code of the decline; "none" makes the card succeed again' },
  data: {
    type: 'string',
    short: 'd',
    multiple: true,
    value: 'JSON|@FILE|name=value',
    describe: 'request body; @- reads standard input, and name=value can be repeated',
  },
  amount: { type: 'string', value: 'N', describe: 'in the smallest unit of the currency; default: all that is held' },
  outcome: { type: 'string', value: 'raised|accepted|dismissed', describe: 'what happened; default: raised' },
  days: { type: 'string', value: '1,3,5,7', describe: 'days of the retries after the first decline' },
  then: { type: 'string', value: 'failed|canceled', describe: 'status after the last retry; default: failed' },
  'forward-to': { type: 'string', value: 'URL', describe: 'URL of your receiver, for example localhost:3000/hook' },
  events: { type: 'string', value: 'TYPES', describe: 'only these events, for example order.*,customer.created' },
  customer: { type: 'string', value: 'ID', describe: 'only events about this customer' },
  secret: {
    type: 'string',
    value: 'whsec_…',
    describe: 'signing secret; default: SVC_WEBHOOK_SECRET (svc listen creates a secret if it is not set)',
  },
  'from-cursor': {
    type: 'string',
    value: 'CURSOR',
    describe: 'continue after this cursor, which an earlier run printed',
  },
  'allow-writes': { type: 'boolean', describe: 'also offer the tools that change the sandbox' },
  state: { type: 'string', value: 'FILE', describe: 'file for the cursor; continue from it if it exists' },
  follow: { type: 'boolean', short: 'f', describe: 'keep running and show new requests' },
  method: { type: 'string', value: 'GET|POST|PATCH|DELETE', describe: 'only requests with this method' },
  status: {
    type: 'string',
    value: '404|4xx',
    describe: 'only requests with this status, or with a status of this class',
  },
  path: { type: 'string', value: '/v1/orders', describe: 'only requests whose path begins with this' },
  limit: { type: 'string', value: 'N', describe: 'how many to show; default: 20' },
  after: { type: 'string', value: 'ID', describe: 'continue after this company, the last one of the page before' },
  since: {
    type: 'string',
    value: 'DATE',
    describe: 'start of the comparison; default: two days before the last transaction of the restored database',
  },
  adopt: { type: 'boolean', describe: 'record missing refunds, voids and retries of known orders' },
  dismiss: {
    type: 'string',
    value: 'REFERENCE',
    describe: 'stop listing an operation that you have resolved at the processor',
  },
  finish: { type: 'boolean', describe: 'open the companies even if one could not be compared' },
  'base-url': {
    type: 'string',
    value: 'URL',
    describe: 'URL of the service; default: SVC_URL, the address of `svc login` or the service on this machine',
  },
  key: {
    type: 'string',
    value: 'KEY',
    describe: 'secret API key; default: SVC_KEY, the key of `svc login` or of the demo company',
  },
  profile: { type: 'string', value: 'NAME', describe: 'name of the profile of `svc login`; default: SVC_PROFILE' },
  override: {
    type: 'string',
    multiple: true,
    value: 'a.b=VALUE',
    describe:
      'field of the object of the event; can be repeated. A value that is JSON is sent as it is, others as text',
  },
  all: { type: 'boolean', describe: 'show all objects, however many there are' },
  'idempotency-key': {
    type: 'string',
    value: 'KEY',
    describe: 'execute the request at most once under this key; default: a new key',
  },
  yes: { type: 'boolean', short: 'y', describe: 'delete without a question' },
  endpoint: { type: 'string', value: 'ID', describe: 'ID of the webhook endpoint; default: the only one' },
  json: { type: 'boolean', describe: 'print JSON' },
  help: { type: 'boolean', short: 'h', describe: 'show this help' },
  version: { type: 'boolean', describe: 'show the version of the service' },
} as const satisfies Record<string, Declaration>;

export type OptionName = keyof typeof options;
export const declarationOf = (name: OptionName): Declaration => options[name];

export type Flags = ReturnType<typeof parseArgs<{ options: typeof options }>>['values'];
