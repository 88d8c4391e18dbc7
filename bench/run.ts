import { relative } from 'node:path';
import { readCommandLine } from '../scripts/command-line.ts';
import { startClient } from './client.ts';
import { workload as processes } from './api-processes.ts';
import { workload as capture } from './capture.ts';
import { workload as controlPlane } from './control-plane.ts';
import { workload as coupons } from './coupons.ts';
import { workload as customers } from './customers.ts';
import { type Environment, startEnvironment } from './environment.ts';
import { workload as fairness } from './fairness.ts';
import { workload as home } from './home.ts';
import { workload as lists } from './lists.ts';
import { workload as pages } from './pages.ts';
import { workload as load } from './load.ts';
import { workload as manyShards } from './many-shards.ts';
import { workload as orders } from './orders.ts';
import { workload as overload } from './overload.ts';
import { workload as requestLog } from './request-log.ts';
import { workload as renewals } from './renewals.ts';
import { workload as poolers } from './poolers.ts';
import { workload as priceChanges } from './price-changes.ts';
import { formatReport, saveReport } from './report.ts';
import { openTree, startEnvironmentOf } from './tree.ts';
import { workload as shardProcess } from './shard-process.ts';
import { workload as start } from './start.ts';
import { workload as webhooks } from './webhooks.ts';
import type { BenchOptions, Workload } from './workload.ts';

/** `npm run bench [workload] [options]`: runs each workload on its own database and processes. */

const workloads: Readonly<Record<string, Workload>> = {
  customers,
  capture,
  orders,
  processes,
  poolers,
  'control-plane': controlPlane,
  'many-shards': manyShards,
  'shard-process': shardProcess,
  coupons,
  renewals,
  'price-changes': priceChanges,
  webhooks,
  'request-log': requestLog,
  lists,
  pages,
  load,
  fairness,
  home,
  overload,
  start,
};

type ReadOptions = Omit<BenchOptions, 'rounds'> & { readonly rounds: number | undefined };

function readArguments(): { names: readonly string[]; options: ReadOptions } {
  const { values, positionals } = readCommandLine({
    name: 'npm run bench',
    summary: `Runs workloads, each on its own database and processes: ${Object.keys(workloads).join(', ')}.`,
    arguments: { name: 'WORKLOAD…', oneOf: Object.keys(workloads) },
    options: {
      seconds: { type: 'number', describe: 'The length of each measurement.' },
      rounds: {
        type: 'number',
        describe: 'The rounds of each comparison. Default: 3; 5 of fairness and overload, 10 with --against.',
      },
      rows: { type: 'number', default: 1_000_000, describe: 'How many customers or orders to seed.' },
      connections: {
        type: 'number',
        default: 128,
        describe: 'Of processes: how many clients, for all of them together.',
      },
      only: { type: 'text', default: '', describe: 'Of lists and pages, runs the cases whose name matches.' },
      kinds: { type: 'text', default: '', describe: 'Of fairness, the kinds to run, for example codes,images.' },
      against: { type: 'text', describe: 'Measures another commit, or another copy, in the same rounds.' },
      processor: {
        type: 'text',
        oneOf: ['sandbox', 'acquirer'],
        default: 'sandbox',
        describe: 'Of orders with --against: what charges them, the sandbox or a simulated acquirer.',
      },
      profile: { type: 'flag', describe: 'Leaves a CPU profile of the service in bench/results/profiles.' },
    },
  });
  const kinds = values.kinds.split(',').filter(Boolean);
  const options = { ...values, kinds, only: new RegExp(values.only) };
  return { names: positionals.length > 0 ? positionals : Object.keys(workloads), options };
}

const signals = ['SIGINT', 'SIGTERM'] as const;

async function runWorkload(
  name: string,
  workload: Workload,
  options: BenchOptions,
  otherRoot: string | undefined,
): Promise<boolean> {
  const environment = await startEnvironment();
  const environments = [environment];
  const client = startClient();
  const stop = (): Promise<unknown> => Promise.all(environments.map((one) => one.stop()));
  const interrupted = (): void => void stop().finally(() => process.exit(130));
  for (const signal of signals) process.once(signal, interrupted);
  try {
    const note = (text: string): void => void process.stderr.write(`${name}: ${text}\n`);
    const against = otherRoot === undefined ? undefined : { root: otherRoot, startEnvironment: startOther };
    const report = await workload.run({ environment, client, options, against, note });
    process.stdout.write(formatReport(report));
    const file = await saveReport(options.against ? `${name}-against` : name, report, options);
    process.stdout.write(`\nSaved in ${relative(process.cwd(), file)}.\n`);
    return report.targets.every(({ met }) => met);
  } finally {
    for (const signal of signals) process.off(signal, interrupted);
    client.stop();
    await stop();
  }

  async function startOther(): Promise<Environment> {
    const other = await startEnvironmentOf(otherRoot ?? '');
    environments.push(other);
    return other;
  }
}

async function main(): Promise<void> {
  const { names, options } = readArguments();
  const otherRoot = options.against === undefined ? undefined : openTree(options.against);
  let allMet = true;
  for (const name of names) {
    const workload = workloads[name];
    if (!workload) continue;
    const rounds = options.rounds ?? (options.against ? 10 : (workload.rounds ?? 3));
    allMet = (await runWorkload(name, workload, { ...options, rounds }, otherRoot)) && allMet;
  }
  process.exitCode = allMet ? 0 : 1;
}

main().catch((error: Error) => {
  process.stderr.write(`${error.stack ?? error.message}\n`);
  process.exitCode = 1;
});
