import { limits } from '../server/limits.ts';
import type { Flags, OptionName } from './options.ts';
import { companyCommands, shardCommands } from './shard-commands.ts';

/** Every command. Help, completion and docs/cli.md are generated from this table. */

/** Takes the words after the first one and returns the text to print. */
type Run = (words: readonly string[], flags: Flags) => Promise<string>;

export interface Command {
  readonly name: string;
  /** What follows the name. */
  readonly takes?: string;
  /** Any number of words can follow. */
  readonly takesMany?: boolean;
  readonly summary: string;
  readonly more?: string;
  readonly options?: readonly OptionName[];
  readonly examples?: readonly string[];
  /** Loaded only when the command runs, so that help and completion are fast. */
  readonly load: () => Promise<Run>;
}

const service: readonly OptionName[] = ['base-url', 'key'];
const request = (method: 'GET' | 'POST' | 'PATCH' | 'DELETE') => async (): Promise<Run> =>
  (await import('./api.ts')).requestCommand(method);
const keys = async (): Promise<Run> => (await import('./keys.ts')).keysCommand;
const plans = async (): Promise<Run> => (await import('./plans.ts')).plansCommand;
const processors = async (): Promise<Run> => (await import('./processors.ts')).processorsCommand;
const subscriptions = async (): Promise<Run> => (await import('./subscriptions.ts')).subscriptionsCommand;
const companies = async (): Promise<Run> => (await import('./companies.ts')).companiesCommand;
const clock = async (): Promise<Run> => (await import('./api.ts')).clockCommand;

export const groups: Readonly<Record<string, readonly Command[]>> = {
  Service: [
    {
      name: 'start',
      summary: 'Start the service, like npm start',
      more: 'Settings are environment variables; see docs/configuration.md.',
      load: async () => (await import('./start.ts')).startCommand,
    },
    {
      name: 'doctor',
      summary: 'Check the database for inconsistencies',
      more: 'Only reads. Exits with 1 if it finds a problem.',
      options: ['all-shards'],
      load: async () => (await import('./doctor.ts')).doctorCommand,
    },
    {
      name: 'status',
      summary: 'Show charges in doubt, clocks, the vault, and whether the database was restored',
      more: 'If a shard cannot be reached, shows the others and exits with 1.',
      load: async () => (await import('./status.ts')).statusCommand,
    },
    {
      name: 'restored',
      summary: 'Close live charges after a restore of the database from a backup',
      more: 'Run it before you start the service. The worker compares each company with its processors, then opens it.',
      options: ['shard'],
      load: async () => (await import('./restored.ts')).restoredCommand,
    },
    {
      name: 'reconcile',
      summary: 'Compare the records with the processors and list missing operations',
      more:
        'Charges nothing. After a restore, opens each company that was compared. Exits with 1 if a company could not be compared, ' +
        'unless --finish has opened it.',
      options: ['since', 'adopt', 'finish', 'dismiss'],
      examples: ['svc reconcile', 'svc reconcile --adopt --since 2026-02-11'],
      load: async () => (await import('./reconcile.ts')).reconcileCommand,
    },
    {
      name: 'migrate',
      summary: 'Migrate the database to this version of the service',
      more:
        'The service also does this at the start if DATABASE_URL has the login of the owner. If it has the login svc_api, run ' +
        'this command with the login of the owner before you start the service.',
      load: async () => (await import('./migrate.ts')).migrateCommand,
    },
    {
      name: 'mails',
      summary: 'Show the latest emails, including undelivered ones',
      load: async () => (await import('./mails.ts')).mailsCommand,
    },
    {
      name: 'backup verify',
      takes: 'FILE',
      summary: 'Restore a backup into a PostgreSQL of its own, check it, and remove it again',
      more:
        'FILE comes from pg_dump in the format custom, directory or tar. Needs pg_restore. Does not connect to the database of the ' +
        'service, and sends nothing. Exits with 1 if it finds a problem.',
      examples: ['svc backup verify svc.dump'],
      load: async () => (await import('./backup.ts')).backupCommand,
    },
    {
      name: 'secrets rotate',
      summary: 'Create new keys, re-encrypt everything with them, and complete a change of the master secret',
      more:
        'Works while the service runs. To change the master secret, first restart every process with the new one in ' +
        'SVC_MASTER_SECRET and the old one in SVC_MASTER_SECRET_PREVIOUS. If it is interrupted, run it again: it continues. ' +
        'See docs/secrets.md.',
      load: async () => (await import('./secrets.ts')).secretsCommand,
    },
    {
      name: 'secrets status',
      summary: 'Show which keys and master secrets are in use, and what is still encrypted with old ones',
      load: async () => (await import('./secrets.ts')).secretsCommand,
    },
    ...shardCommands,
    {
      name: 'vault keys',
      summary: 'Print a value for SVC_VAULT_KEYS: the current keys and a new one',
      more: 'Stores nothing. If SVC_VAULT_KEYS is not set, it prints a first set of keys.',
      load: async () => (await import('./vault.ts')).vaultCommand,
    },
    {
      name: 'vault rotate',
      summary: 'Create new vault keys and re-encrypt the key of every card',
      more: 'Works while the service runs. Back up the keys afterwards.',
      load: async () => (await import('./vault.ts')).vaultCommand,
    },
    {
      name: 'vault reset',
      summary: 'Reset a vault without cards whose keys were lost; the next start creates new keys',
      more: 'Stop the service first. Fails if the vault has cards or connected processors, because only the lost keys can decrypt them.',
      load: async () => (await import('./vault.ts')).vaultCommand,
    },
  ],
  Development: [
    {
      name: 'listen',
      summary: 'Forward the events of your sandbox to a receiver on this machine',
      more:
        'Signs each event like a webhook, with a secret that it prints at the start. If the connection breaks, it reconnects ' +
        'and loses no event, but an event can arrive twice. If the receiver does not respond, it waits. If the receiver ' +
        'responds with an error, it sends the event up to three times.',
      options: ['forward-to', 'events', 'customer', 'secret', 'from-cursor', 'state', ...service],
      examples: ['svc listen --forward-to localhost:3000/hook --events "order.*,subscription.*"'],
      load: async () => (await import('./listen.ts')).listenCommand,
    },
    {
      name: 'trigger',
      takes: 'EVENT',
      summary: 'Trigger an event in the sandbox',
      options: service,
      examples: ['svc trigger order.failed'],
      load: async () => (await import('./api.ts')).triggerCommand,
    },
    {
      name: 'webhooks check',
      takes: 'URL',
      summary: 'Test your webhook receiver with valid, duplicate, reordered, stale and forged events',
      more:
        'Pass the secret of your receiver. Exits with 1 if a check fails. The command cannot see ' +
        'whether your receiver handled a duplicate event once, so it prints the ID of the event for you to check.',
      options: ['secret'],
      examples: ['svc webhooks check localhost:3000/hook --secret whsec_…'],
      load: async () => (await import('./webhooks-check.ts')).webhooksCommand,
    },
    {
      name: 'logs',
      takes: '[REQUEST_ID]',
      summary: `Show the API requests of the last ${limits.requestRetentionDays} days, or one request in full`,
      options: ['follow', 'method', 'status', 'path', 'limit', ...service],
      examples: ['svc logs --follow --status 4xx'],
      load: async () => (await import('./logs.ts')).logsCommand,
    },
    { name: 'clock', summary: 'Show the time of the sandbox clock', options: service, load: clock },
    {
      name: 'clock advance',
      takes: '1 month 2 days | TIME',
      takesMany: true,
      summary: 'Advance the sandbox clock and show what happened',
      options: service,
      examples: ['svc clock advance 1 month', 'svc clock advance 2027-01-31T09:00:00Z'],
      load: clock,
    },
    {
      name: 'sandbox decline',
      summary: 'Add a test card that declines',
      options: ['number', 'code', 'company'],
      examples: ['svc sandbox decline --company demo --number 4000000000000119 --code insufficient_funds'],
      load: async () => (await import('./sandbox.ts')).sandboxCommand,
    },
  ],
  'API requests': [
    {
      name: 'get',
      takes: 'PATH',
      summary: 'Send a GET request',
      options: service,
      examples: ["svc get '/v1/customers?limit=3'"],
      load: request('GET'),
    },
    {
      name: 'post',
      takes: 'PATH',
      summary: 'Send a POST request with a new idempotency key',
      options: ['data', ...service],
      examples: ['svc post /v1/sandbox/events/trigger -d type=order.failed'],
      load: request('POST'),
    },
    {
      name: 'patch',
      takes: 'PATH',
      summary: 'Send a PATCH request',
      options: ['data', ...service],
      load: request('PATCH'),
    },
    {
      name: 'delete',
      takes: 'PATH',
      summary: 'Send a DELETE request',
      options: ['data', ...service],
      load: request('DELETE'),
    },
  ],
  Company: [
    {
      name: 'keys create',
      summary: 'Create an API key and print it; it is not shown again',
      options: ['company', 'kind', 'name', 'permissions', 'expires-in', 'allow-ip'],
      examples: ['svc keys create --company demo --permissions customers:read --expires-in 3600'],
      load: keys,
    },
    { name: 'keys list', summary: 'List the API keys of a company', options: ['company'], load: keys },
    {
      name: 'keys revoke',
      takes: 'ID',
      summary: 'Revoke an API key; it stops working within seconds',
      options: ['company'],
      load: keys,
    },
    {
      name: 'plans create',
      takes: 'JSON',
      summary: 'Create a plan with the fields of GET /v1/plans',
      options: ['company'],
      examples: [
        `svc plans create --company demo '{"name": "Tea", "amount": 1900, "currency": "usd", "billing_cycle": {"interval": "month", "interval_count": 1, "anchor_day": "signup_date"}}'`,
      ],
      load: plans,
    },
    { name: 'plans list', summary: 'List the plans of a company', options: ['company'], load: plans },
    {
      name: 'plans archive',
      takes: 'ID',
      summary: 'Stop new subscriptions to a plan; existing ones continue',
      options: ['company'],
      load: plans,
    },
    {
      name: 'subscriptions pause',
      takes: 'ID',
      summary: 'Pause a subscription; it is not charged until you resume it',
      options: ['company'],
      load: subscriptions,
    },
    {
      name: 'subscriptions resume',
      takes: 'ID',
      summary: 'Resume a subscription; billing dates during the pause are not charged',
      options: ['company'],
      load: subscriptions,
    },
    {
      name: 'customers end-links',
      takes: 'ID',
      summary: 'End all links to the page of a customer, those in emails included',
      options: ['company'],
      load: async () => (await import('./customers.ts')).endLinksCommand,
    },
    {
      name: 'orders void',
      takes: 'ID',
      summary: 'Void a charge that has not settled',
      options: ['company'],
      load: async () => (await import('./orders.ts')).voidCommand,
    },
    {
      name: 'orders chargeback',
      takes: 'ID',
      summary: 'Record a dispute of a charge, or how it ended',
      more:
        'For processors that do not report disputes to this service. raised: the cardholder disputes the charge. accepted: the ' +
        'cardholder keeps the money. dismissed: you keep it. A dispute that a processor reports is answered in the dashboard.',
      options: ['outcome', 'company'],
      examples: [
        'svc orders chargeback ID --company live',
        'svc orders chargeback ID --company live --outcome dismissed',
      ],
      load: async () => (await import('./orders.ts')).chargebackCommand,
    },
    {
      name: 'companies dunning',
      summary: 'Set the retry schedule for declined renewals',
      options: ['company', 'days', 'then'],
      examples: ['svc companies dunning --company demo --days 1,3,5,7 --then canceled'],
      load: companies,
    },
    ...companyCommands,
    {
      name: 'processors list',
      summary: 'List the processors of the live company, in the order in which they are tried',
      options: ['company'],
      load: processors,
    },
    {
      name: 'processors connect',
      summary: 'Connect a processor to the live company',
      more:
        'Reads the secret of an acquirer from the environment variable SVC_PROCESSOR_SECRET, and the credentials of other ' +
        'processors from a file. With --connection, replaces the credentials of a connection. Credentials that do not work ' +
        'are not stored, except those of an acquirer, which may start later. Prints the notice URL to enter at the processor.',
      options: ['processor', 'url', 'credentials', 'name', 'connection', 'timeout-ms', 'request-life-ms', 'company'],
      examples: ['svc processors connect --processor stripe --credentials stripe.json'],
      load: processors,
    },
    {
      name: 'processors test',
      summary: 'Make a harmless call with the credentials of a connection',
      options: ['connection', 'company'],
      load: processors,
    },
    {
      name: 'processors rules',
      summary: 'Set which charges a connection takes',
      more: 'Rules that you leave out are removed.',
      options: ['connection', 'currencies', 'brands', 'share', 'first', 'company'],
      examples: ['svc processors rules --connection ID --currencies eur --first'],
      load: processors,
    },
    {
      name: 'processors disconnect',
      summary: 'Stop new charges at a processor',
      more: 'Its credentials stay stored, so that its charges can still be refunded, looked up and disputed.',
      options: ['connection', 'company'],
      load: processors,
    },
    {
      name: 'processors reconnect',
      summary: 'Use a disconnected processor again, after the others',
      options: ['connection', 'company'],
      load: processors,
    },
    {
      name: 'processors remove',
      summary: 'Remove the credentials of a disconnected processor',
      more: 'Its charges can then no longer be refunded or looked up here. Fails while a payment has no outcome yet.',
      options: ['connection', 'company'],
      load: processors,
    },
  ],
  Shell: [
    {
      name: 'completion',
      takes: 'bash|zsh|fish',
      summary: 'Print the completion script for your shell',
      more:
        'Completes `svc` and `npx @svc-payments/cli`. Save the output to a file and source it in ~/.bashrc or ~/.zshrc; fish ' +
        'loads the file automatically.',
      examples: [
        'npx @svc-payments/cli completion bash > ~/.svc-completion',
        'npx @svc-payments/cli completion zsh > ~/.svc-completion',
        'npx @svc-payments/cli completion fish > ~/.config/fish/conf.d/svc.fish',
      ],
      load: async () => (await import('./completion.ts')).completionCommand,
    },
  ],
};

export const commands: readonly Command[] = Object.values(groups).flat();

/** Finds the command with the longest matching name. */
export function findCommand(words: readonly string[]): Command | undefined {
  const named = (count: number): Command | undefined =>
    words.length < count ? undefined : commands.find(({ name }) => name === words.slice(0, count).join(' '));
  return named(2) ?? named(1);
}

/** The maximum number of words, including the name. */
export function wordsMax({ name, takes, takesMany }: Command): number {
  if (takesMany) return Infinity;
  return name.split(' ').length + (takes === undefined ? 0 : 1);
}

export function optionsOf({ options = [] }: Command): readonly OptionName[] {
  return [...options, 'json', 'help'];
}

/** Commands that begin with this word, for example `keys`. */
export const commandsUnder = (word: string): readonly Command[] =>
  commands.filter(({ name }) => name.split(' ')[0] === word);
