import type { Flags, OptionName } from './options.ts';

/** Every command. Help, completion and docs/cli.md are written from this table. */

/** Gets the words after the first one; gives what is printed. */
export type Run = (words: readonly string[], flags: Flags) => Promise<string>;

export interface Command {
  readonly name: string;
  /** What follows the name. */
  readonly takes?: string;
  /** What follows may be any number of words. */
  readonly takesMany?: boolean;
  readonly summary: string;
  readonly more?: string;
  readonly options?: readonly OptionName[];
  readonly examples?: readonly string[];
  /** Loaded when it runs, so that help and completion are quick. */
  readonly load: () => Promise<Run>;
}

const service: readonly OptionName[] = ['base-url', 'key'];
const request = (method: 'GET' | 'POST' | 'PATCH' | 'DELETE') => async (): Promise<Run> =>
  (await import('./api.ts')).requestCommand(method);
const keys = async (): Promise<Run> => (await import('./keys.ts')).keysCommand;
const plans = async (): Promise<Run> => (await import('./plans.ts')).plansCommand;
const processors = async (): Promise<Run> => (await import('./processors.ts')).processorsCommand;
const subscriptions = async (): Promise<Run> => (await import('./subscriptions.ts')).subscriptionsCommand;
const clock = async (): Promise<Run> => (await import('./api.ts')).clockCommand;

export const groups: Readonly<Record<string, readonly Command[]>> = {
  'The service': [
    {
      name: 'start',
      summary: 'starts the service, as npm start does',
      more: 'Settings are environment variables, see docs/configuration.md.',
      load: async () => (await import('./start.ts')).startCommand,
    },
    {
      name: 'doctor',
      summary: 'holds the database against what must always be true of it',
      more: 'Reads only. Exits with 1 when something is wrong.',
      load: async () => (await import('./doctor.ts')).doctorCommand,
    },
    {
      name: 'migrate',
      summary: 'brings the database up to this version of the program, as a start does',
      more: 'For services that log in to their database as svc_api: run it as the owner, before they start.',
      load: async () => (await import('./migrate.ts')).migrateCommand,
    },
    {
      name: 'mails',
      summary: 'shows the latest mails, also those that no mail server was there for',
      load: async () => (await import('./mails.ts')).mailsCommand,
    },
    {
      name: 'vault keys',
      summary: 'prints keys for SVC_VAULT_KEYS: those that are set there, and a new one',
      more: 'Stores nothing. Where none are set it prints the first ones.',
      load: async () => (await import('./vault.ts')).vaultCommand,
    },
    {
      name: 'vault rotate',
      summary: 'gives the vault new keys, and rewraps every card with them',
      more: 'Works while the service runs. Keep a backup of the keys afterwards.',
      load: async () => (await import('./vault.ts')).vaultCommand,
    },
    {
      name: 'vault reset',
      summary: 'lets the next start make new keys, when the first ones were lost before any card was stored',
      more: 'Stop the service first. Refuses where there is anything that only the lost keys open.',
      load: async () => (await import('./vault.ts')).vaultCommand,
    },
  ],
  'While you build': [
    {
      name: 'listen',
      summary: 'brings the events of your sandbox to a receiver on this machine',
      more:
        'Each is signed as a webhook is, with a secret that is printed at the start. A connection that breaks is made ' +
        'again, and nothing is lost meanwhile; an event may come twice. A receiver that does not answer is waited for; ' +
        'one that answers with an error gets the event three times.',
      options: ['forward-to', 'events', 'customer', 'secret', 'from-cursor', 'state', ...service],
      examples: ['svc listen --forward-to localhost:3000/hook --events "order.*,subscription.*"'],
      load: async () => (await import('./listen.ts')).listenCommand,
    },
    {
      name: 'trigger',
      takes: 'EVENT',
      summary: 'makes an event happen in the sandbox',
      options: service,
      examples: ['svc trigger order.failed'],
      load: async () => (await import('./api.ts')).triggerCommand,
    },
    {
      name: 'webhooks check',
      takes: 'URL',
      summary: 'tries your receiver of webhooks: good events, repeated, reordered, stale and forged ones',
      more:
        'Give it the secret that your receiver knows. Exits with 1 when it did something wrong. Whether a repeated event was ' +
        'handled once only your own records can tell: its id is printed.',
      options: ['secret'],
      examples: ['svc webhooks check localhost:3000/hook --secret whsec_…'],
      load: async () => (await import('./webhooks-check.ts')).webhooksCommand,
    },
    {
      name: 'logs',
      takes: '[REQUEST_ID]',
      summary: 'shows the requests of the last seven days, or one of them in full',
      options: ['follow', 'method', 'status', 'path', 'limit', ...service],
      examples: ['svc logs --follow --status 4xx'],
      load: async () => (await import('./logs.ts')).logsCommand,
    },
    { name: 'clock', summary: 'reads the clock of the sandbox', options: service, load: clock },
    {
      name: 'clock advance',
      takes: '1 month 2 days | MOMENT',
      takesMany: true,
      summary: 'lets time pass in the sandbox, and shows what happened',
      options: service,
      examples: ['svc clock advance 1 month', 'svc clock advance 2027-01-31T09:00:00Z'],
      load: clock,
    },
    {
      name: 'sandbox decline',
      summary: 'makes a further test card that declines',
      options: ['number', 'code', 'company'],
      examples: ['svc sandbox decline --company demo --number 4000000000000119 --code insufficient_funds'],
      load: async () => (await import('./sandbox.ts')).sandboxCommand,
    },
  ],
  'Requests to the API': [
    {
      name: 'get',
      takes: 'PATH',
      summary: 'reads',
      options: service,
      examples: ["svc get '/v1/customers?limit=3'"],
      load: request('GET'),
    },
    {
      name: 'post',
      takes: 'PATH',
      summary: 'creates or acts, with a new idempotency key',
      options: ['data', ...service],
      examples: ['svc post /v1/sandbox/events/trigger -d type=order.failed'],
      load: request('POST'),
    },
    { name: 'patch', takes: 'PATH', summary: 'changes', options: ['data', ...service], load: request('PATCH') },
    { name: 'delete', takes: 'PATH', summary: 'deletes', options: ['data', ...service], load: request('DELETE') },
  ],
  'A company': [
    {
      name: 'keys create',
      summary: 'makes an API key; it is shown this once',
      options: ['company', 'kind', 'name', 'permissions', 'expires-in', 'allow-ip'],
      examples: ['svc keys create --company demo --permissions customers:read --expires-in 3600'],
      load: keys,
    },
    { name: 'keys list', summary: 'shows the keys of a company', options: ['company'], load: keys },
    { name: 'keys revoke', takes: 'ID', summary: 'ends a key at once', options: ['company'], load: keys },
    {
      name: 'plans create',
      takes: 'JSON',
      summary: 'makes a plan; the fields are those that GET /v1/plans shows',
      options: ['company'],
      examples: [
        `svc plans create --company demo '{"name": "Tea", "amount": 1900, "currency": "usd", "billing_cycle": {"interval": "month", "interval_count": 1, "anchor_day": "signup_date"}}'`,
      ],
      load: plans,
    },
    { name: 'plans list', summary: 'shows the plans of a company', options: ['company'], load: plans },
    {
      name: 'plans archive',
      takes: 'ID',
      summary: 'ends new subscriptions to a plan; those there are go on',
      options: ['company'],
      load: plans,
    },
    {
      name: 'subscriptions pause',
      takes: 'ID',
      summary: 'bills no cycle until it is resumed',
      options: ['company'],
      load: subscriptions,
    },
    {
      name: 'subscriptions resume',
      takes: 'ID',
      summary: 'bills again; dates that passed meanwhile are not billed',
      options: ['company'],
      load: subscriptions,
    },
    {
      name: 'orders void',
      takes: 'ID',
      summary: 'takes back a charge that has not settled',
      options: ['company'],
      load: async () => (await import('./orders.ts')).ordersCommand,
    },
    {
      name: 'companies dunning',
      summary: 'says when declined renewals are tried again',
      options: ['company', 'days', 'then'],
      examples: ['svc companies dunning --company demo --days 1,3,5,7 --then canceled'],
      load: async () => (await import('./companies.ts')).companiesCommand,
    },
    {
      name: 'processors connect',
      summary: 'says who charges the cards of the live company',
      more: 'The secret of the acquirer is read from the variable SVC_PROCESSOR_SECRET.',
      options: ['url', 'timeout-ms', 'request-life-ms', 'company'],
      load: processors,
    },
    {
      name: 'processors disconnect',
      summary: 'refuses new live orders from now on',
      more: 'Waits for the charges under way. The connection stays when one of them is in doubt: only that acquirer knows how it ends.',
      options: ['company'],
      load: processors,
    },
  ],
  'The shell': [
    {
      name: 'completion',
      takes: 'bash|zsh|fish',
      summary: 'prints what your shell needs to complete these commands',
      more:
        'Completes `svc` and `npx svc`. Keep what it prints in a file, and let ~/.bashrc or ~/.zshrc source that; fish finds ' +
        'it by itself. In another folder than that of this program `npx svc` would fetch something else of that name.',
      examples: [
        'npx svc completion bash > ~/.svc-completion',
        'npx svc completion zsh > ~/.svc-completion',
        'npx svc completion fish > ~/.config/fish/conf.d/svc.fish',
      ],
      load: async () => (await import('./completion.ts')).completionCommand,
    },
  ],
};

export const commands: readonly Command[] = Object.values(groups).flat();

/** The command with the most words of those given. */
export function findCommand(words: readonly string[]): Command | undefined {
  const named = (count: number): Command | undefined =>
    words.length < count ? undefined : commands.find(({ name }) => name === words.slice(0, count).join(' '));
  return named(2) ?? named(1);
}

/** How many words may stand there, the name included. */
export function wordsMax({ name, takes, takesMany }: Command): number {
  if (takesMany) return Infinity;
  return name.split(' ').length + (takes === undefined ? 0 : 1);
}

export function optionsOf({ options = [] }: Command): readonly OptionName[] {
  return [...options, 'json', 'help'];
}

/** Commands that begin with this word, such as `keys`. */
export const commandsUnder = (word: string): readonly Command[] =>
  commands.filter(({ name }) => name.split(' ')[0] === word);
