import type { Command } from './commands.ts';

const load: Command['load'] = async () => (await import('./shards.ts')).shardsCommand;

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
