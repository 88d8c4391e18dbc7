import type { Command } from './commands.ts';

const load: Command['load'] = async () => (await import('./shards.ts')).shardsCommand;
const companies: Command['load'] = async () => (await import('./companies.ts')).companiesCommand;

export const shardCommands: readonly Command[] = [
  { name: 'shards list', summary: 'List the shards, their companies, and which of them drain', load },
  {
    name: 'shards add',
    takes: 'NAME=URL',
    summary: 'Check and migrate a database, and print the SVC_SHARDS that makes it a shard',
    more: 'The database must be empty, or that of this shard already. `-` reads NAME=URL from standard input, so that no other user of the machine sees the password.',
    examples: ['svc shards add b=postgres://svc@pg-b/svc', 'svc shards add - < shard-b.txt'],
    load,
  },
  {
    name: 'shards drain',
    takes: 'NAME',
    summary: 'Place no new companies on a shard',
    more: 'Its companies stay. `svc companies rebalance --apply` moves them to the other shards.',
    load,
  },
  { name: 'shards undrain', takes: 'NAME', summary: 'Place new companies on a shard again', load },
];

export const companyCommands: readonly Command[] = [
  {
    name: 'companies list',
    summary: 'List the companies with their shards, moves under way, and about how many orders they have',
    more: 'Orders are counted up to 10,000; larger numbers are estimates. If a shard cannot be reached, lists the companies of the others and exits with 1.',
    options: ['shard', 'limit', 'after'],
    examples: ['svc companies list --shard b', 'svc companies list --limit 100 --after ID'],
    load: companies,
  },
  {
    name: 'companies move',
    summary: 'Move the companies of an account, live, sandbox and rehearsal, to another shard',
    more:
      'Works while the service runs. For less than a second, requests that change these companies are answered with 503. ' +
      'If it is interrupted, run it again: it continues. Needs wal_level = logical on the server that the companies leave, ' +
      'and a login that may create publications and subscriptions.',
    options: ['company', 'to', 'abort'],
    examples: ['svc companies move --company ID --to b', 'svc companies move --company ID --abort'],
    load: companies,
  },
  {
    name: 'companies rehearsal',
    summary: 'Create the company in which an account rehearses with test accounts of processors',
    more: 'It gets the team of the company that you name, and prints its ID. If it exists, prints its ID only.',
    options: ['company'],
    examples: ['svc companies rehearsal --company live'],
    load: companies,
  },
  {
    name: 'companies rebalance',
    summary: 'Move companies so that every shard has about as many',
    more: 'Shards that drain are emptied.',
    options: ['dry-run', 'apply'],
    examples: ['svc companies rebalance --dry-run'],
    load: companies,
  },
];
