import { parseArgs } from 'node:util';
import { ConfigurationError } from '../server/config.ts';
import { CommandError } from './command-error.ts';
import { doctorCommand } from './doctor.ts';
import { keysCommand } from './keys.ts';
import { clockCommand, requestCommand, triggerCommand } from './api.ts';
import { companiesCommand } from './companies.ts';
import { ordersCommand } from './orders.ts';
import { plansCommand } from './plans.ts';
import { processorsCommand } from './processors.ts';
import { sandboxCommand } from './sandbox.ts';
import { subscriptionsCommand } from './subscriptions.ts';
import { vaultCommand } from './vault.ts';

/** `npm run svc -- <command>`: what an operator does from a shell. */

const usage = `Usage: npm run svc -- <command>

  keys create --company demo|live [options]   make an API key; it is shown this once
      --kind secret|publishable               default: secret
      --name TEXT                             default: "command line"
      --permissions a:read,b:write            default: every permission there is
      --expires-in SECONDS                    default: never
      --allow-ip CIDR[,CIDR…]                 default: any address
  keys list --company demo|live               show the keys of a company
  keys revoke ID --company demo|live          end a key at once

  processors connect --url URL                who charges the cards of the live company; its secret is read
                                              from the variable SVC_PROCESSOR_SECRET
      --timeout-ms N                          default: 10000
      --request-life-ms N                     default: 60000; after it, "not found" means it never arrived
  processors disconnect                       new live orders are refused

  plans create JSON --company demo|live       make a plan; the fields are those that GET /v1/plans shows
  plans list --company demo|live
  plans archive ID --company demo|live        no new subscriptions; those there are go on

  subscriptions pause ID --company demo|live  no cycle is billed until it is resumed
  subscriptions resume ID --company demo|live dates that passed meanwhile are not billed
  companies dunning --company demo|live       when declined renewals are tried again
      --days 1,3,5,7                          days after the first decline
      --then failed|canceled                  what the subscription is after the last; default: failed

  orders void ID --company demo|live          take back a charge that has not settled
  sandbox decline --number DIGITS --code CODE a further test card that declines; --code none ends it

  get | post | patch | delete PATH            ask a running service, such as: get '/v1/customers?limit=3'
      -d JSON, or -d name=value …             the body
      --base-url URL --key KEY                default: SVC_BASE_URL and SVC_KEY, or the demo company
  trigger EVENT                               make an event happen in the sandbox, such as order.failed
  clock [advance 1 month 2 days]              read the clock of the sandbox, or let time pass and see what happens

  doctor                                      holds the database against what must always be true of it;
                                              exits with 1 when something is wrong

  vault rotate                                new keys for the vault, and every card rewrapped with them

  --company also takes the id of a company. --json prints JSON.
  The database is DATABASE_URL, or the embedded one in SVC_DATA_DIR.
`;

const options = {
  company: { type: 'string' },
  kind: { type: 'string' },
  name: { type: 'string' },
  permissions: { type: 'string' },
  'expires-in': { type: 'string' },
  'allow-ip': { type: 'string', multiple: true },
  url: { type: 'string' },
  'timeout-ms': { type: 'string' },
  'request-life-ms': { type: 'string' },
  number: { type: 'string' },
  code: { type: 'string' },
  data: { type: 'string', short: 'd', multiple: true },
  'base-url': { type: 'string' },
  key: { type: 'string' },
  days: { type: 'string' },
  then: { type: 'string' },
  json: { type: 'boolean' },
  help: { type: 'boolean' },
} as const;

export type Flags = ReturnType<typeof parseArgs<{ options: typeof options }>>['values'];

const commands: Readonly<Record<string, (words: readonly string[], flags: Flags) => Promise<string>>> = {
  clock: clockCommand,
  companies: companiesCommand,
  delete: requestCommand('DELETE'),
  doctor: doctorCommand,
  get: requestCommand('GET'),
  keys: keysCommand,
  processors: processorsCommand,
  plans: plansCommand,
  orders: ordersCommand,
  patch: requestCommand('PATCH'),
  post: requestCommand('POST'),
  sandbox: sandboxCommand,
  subscriptions: subscriptionsCommand,
  trigger: triggerCommand,
  vault: vaultCommand,
};

async function main(): Promise<void> {
  const { values, positionals } = parseArgs({ options, allowPositionals: true });
  const [command, ...rest] = positionals;
  if (values.help || !command) {
    process.stdout.write(usage);
    return;
  }
  const run = commands[command];
  if (!run) throw new CommandError(`There is no command "${command}".\n\n${usage}`);
  process.stdout.write(await run(rest, values));
}

main().catch((error: NodeJS.ErrnoException) => {
  const expected =
    error instanceof CommandError || error instanceof ConfigurationError || error.code?.startsWith('ERR_PARSE_ARGS');
  process.stderr.write(`${expected ? error.message : error.stack}\n`);
  process.exitCode = 1;
});
