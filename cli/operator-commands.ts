import type { Command } from './commands.ts';
import { companyCommands, shardCommands } from './shard-commands.ts';

/** The commands that open the database or run the service. An installation has them; the one file for merchants does not. */

/** The names of commands that this copy does not have: none, except in the one file for merchants. */
export const leftOut: readonly string[] = [];

type Load = Command['load'];

const keys: Load = async () => (await import('./keys.ts')).keysCommand;
const plans: Load = async () => (await import('./plans.ts')).plansCommand;
const priceChanges: Load = async () => (await import('./price-changes.ts')).priceChangesCommand;
const processors: Load = async () => (await import('./processors.ts')).processorsCommand;
const subscriptions: Load = async () => (await import('./subscriptions.ts')).subscriptionsCommand;
const companies: Load = async () => (await import('./companies.ts')).companiesCommand;

export const operatorCommands: Readonly<Record<'Service' | 'Development' | 'Company', readonly Command[]>> = {
  Service: [
    {
      name: 'start',
      summary: 'Start the service',
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
      more: 'If a shard cannot be reached, shows the others and exits with 1. Of more than ten shards, names those that need attention; --all-shards and --json show each.',
      options: ['all-shards'],
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
      name: 'sandbox decline',
      summary: 'Add a test card that declines',
      options: ['number', 'code', 'company'],
      examples: ['svc sandbox decline --company demo --number 4000000000000119 --code insufficient_funds'],
      load: async () => (await import('./sandbox.ts')).sandboxCommand,
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
      name: 'price-changes preview',
      takes: 'PLAN_ID NEW_PLAN_ID',
      summary: 'Show how many subscriptions of a plan would get another plan, and the sums',
      options: ['company'],
      load: priceChanges,
    },
    {
      name: 'price-changes start',
      takes: 'PLAN_ID NEW_PLAN_ID',
      summary: 'Move the subscriptions of a plan to another plan at their next renewal',
      more: 'The worker schedules the changes.',
      options: ['company'],
      load: priceChanges,
    },
    { name: 'price-changes list', summary: 'List the latest price changes', options: ['company'], load: priceChanges },
    {
      name: 'price-changes show',
      takes: 'ID',
      summary: 'Show the progress of a price change, and its exceptions with their reasons',
      options: ['company'],
      load: priceChanges,
    },
    {
      name: 'price-changes pause',
      takes: 'ID',
      summary: 'Pause a price change; subscriptions that have not renewed keep their plan',
      options: ['company'],
      load: priceChanges,
    },
    {
      name: 'price-changes resume',
      takes: 'ID',
      summary: 'Resume a price change',
      options: ['company'],
      load: priceChanges,
    },
    {
      name: 'price-changes undo',
      takes: 'ID',
      summary: 'Undo a price change for the subscriptions that have not renewed yet',
      options: ['company'],
      load: priceChanges,
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
      name: 'invoices settings',
      takes: '[JSON]',
      summary: 'Show or change how a company numbers its invoices, and who the seller is',
      more: 'Without JSON, shows the settings. Invoices can be switched on once the seller has an address.',
      options: ['company'],
      examples: [
        `svc invoices settings --company demo '{"enabled": true, "seller": {"tax_id": "DE123456789", "address": {"line1": "Hauptstraße 1", "postal_code": "10115", "city": "Berlin", "country": "DE"}}}'`,
      ],
      load: async () => (await import('./invoices.ts')).invoicesCommand,
    },
    {
      name: 'customers end-links',
      takes: 'ID',
      summary: 'End all links to the page of a customer, those in emails included',
      options: ['company'],
      load: async () => (await import('./customers.ts')).endLinksCommand,
    },
    {
      name: 'orders capture',
      takes: 'ID',
      summary: 'Capture the payment of an order whose funds are held, once',
      options: ['amount', 'company'],
      examples: ['svc orders capture ID --company live', 'svc orders capture ID --company live --amount 3000'],
      load: async () => (await import('./orders.ts')).captureCommand,
    },
    {
      name: 'orders void',
      takes: 'ID',
      summary: 'Void a charge that has not settled, or release held funds',
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
      name: 'processors rehearse',
      takes: 'CONNECTION',
      summary: 'Make the payments of the product at a test account, and compare the answers',
      more:
        'Only in the rehearsal company. Stores a card, pays, pays the same amount again, is declined, refunds, renews, and waits for notices and a dispute. ' +
        'The worker of the service does it; if this command or the worker is interrupted, run the command again. Exits with 1 if something is wrong.',
      options: ['connection', 'currency', 'company'],
      examples: ['svc processors rehearse 019c4c21-4a00-7e11-9b2c-6d5e4f3a2b1c'],
      load: async () => (await import('./rehearse.ts')).rehearseCommand,
    },
    {
      name: 'processors record',
      summary: 'Record what a test account answers, for the simulators',
      more:
        'Reads the credentials of a test account from a file, makes the calls of the product with test cards, and prints what was answered: ' +
        'without credentials, card numbers, names and IDs. Needs no service and no database.',
      options: ['processor', 'credentials', 'url'],
      examples: ['svc processors record --processor stripe --credentials stripe-test.json > stripe.json'],
      load: async () => (await import('./record.ts')).recordCommand,
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
};
