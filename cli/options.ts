import type { parseArgs } from 'node:util';

/** Every option of every command. Help, completion and docs/cli.md are written from this and from `commands.ts`. */

interface Declaration {
  readonly type: 'string' | 'boolean';
  readonly short?: string;
  readonly multiple?: boolean;
  /** What stands for its value in the help. */
  readonly value?: string;
  readonly describe: string;
}

export const options = {
  company: { type: 'string', value: 'demo|live|ID', describe: 'whose; an id where there are several merchants' },
  kind: { type: 'string', value: 'secret|publishable', describe: 'of the key; default: secret' },
  name: { type: 'string', value: 'TEXT', describe: 'of the key; default: "command line"' },
  permissions: { type: 'string', value: 'a:read,b:write', describe: 'default: every permission there is' },
  'expires-in': { type: 'string', value: 'SECONDS', describe: 'default: never' },
  'allow-ip': { type: 'string', multiple: true, value: 'CIDR[,CIDR…]', describe: 'default: any address' },
  url: { type: 'string', value: 'URL', describe: 'of the acquirer' },
  'timeout-ms': { type: 'string', value: 'N', describe: 'how long a charge may take; default: 10000' },
  'request-life-ms': {
    type: 'string',
    value: 'N',
    describe: 'after this long "not found" means that it never arrived; default: 60000',
  },
  number: { type: 'string', value: 'DIGITS', describe: 'of the test card' },
  code: { type: 'string', value: 'CODE', describe: 'the failure code it declines with; none ends it' },
  data: {
    type: 'string',
    short: 'd',
    multiple: true,
    value: 'JSON|name=value',
    describe: 'the body; name=value may be repeated',
  },
  days: { type: 'string', value: '1,3,5,7', describe: 'days after the first decline' },
  then: { type: 'string', value: 'failed|canceled', describe: 'what it is after the last; default: failed' },
  'forward-to': { type: 'string', value: 'URL', describe: 'the receiver, such as localhost:3000/hook' },
  events: { type: 'string', value: 'TYPES', describe: 'only these, such as order.*,customer.created' },
  customer: { type: 'string', value: 'ID', describe: 'only what concerns this customer' },
  secret: {
    type: 'string',
    value: 'whsec_…',
    describe: 'signs the events; default: SVC_WEBHOOK_SECRET, or for listen a new one',
  },
  'from-cursor': { type: 'string', value: 'CURSOR', describe: 'goes on where an earlier run ended' },
  state: { type: 'string', value: 'FILE', describe: 'keeps the cursor here, and goes on from it' },
  follow: { type: 'boolean', short: 'f', describe: 'goes on with what comes' },
  method: { type: 'string', value: 'GET|POST|PATCH|DELETE', describe: 'only requests with this method' },
  status: { type: 'string', value: '404|4xx', describe: 'only this status, or all of a kind' },
  path: { type: 'string', value: '/v1/orders', describe: 'only paths that begin so' },
  limit: { type: 'string', value: 'N', describe: 'how many of the latest; default: 20' },
  'base-url': {
    type: 'string',
    value: 'URL',
    describe: 'the service; default: SVC_URL or SVC_BASE_URL, or the one on this machine',
  },
  key: { type: 'string', value: 'KEY', describe: 'a secret key; default: SVC_KEY, or that of the demo company' },
  json: { type: 'boolean', describe: 'prints JSON' },
  help: { type: 'boolean', short: 'h', describe: 'shows this' },
} as const satisfies Record<string, Declaration>;

export type OptionName = keyof typeof options;
export const declarationOf = (name: OptionName): Declaration => options[name];

export type Flags = ReturnType<typeof parseArgs<{ options: typeof options }>>['values'];
