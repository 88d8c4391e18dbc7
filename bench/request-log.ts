import { compare, comparisonTable } from './compare.ts';
import { connections, openShop, workload as orders } from './orders.ts';
import type { Bench, Report, Workload } from './workload.ts';

/** `npm run bench request-log`: orders with and without the request log, in the same rounds. */

const target = 0.95;

async function run(bench: Bench): Promise<Report> {
  const { environment, options } = bench;
  const [off, on] = [
    await environment.startService('off', { settings: { SVC_REQUEST_LOG: 'off' } }),
    await environment.startService('on'),
  ];
  const { customers, products } = await openShop(on, environment.key);
  const data = { customers, products };
  const compared = await compare(bench, {
    title: 'order',
    module: orders.module,
    connections,
    seconds: options.seconds ?? 6,
    warmUpSeconds: 3,
    candidates: [
      { name: 'log off', server: off, request: 'order', data },
      { name: 'log on', server: on, request: 'order', data },
    ],
  });
  const ratio = compared.measured[1]?.ratio ?? 0;
  return {
    tables: [comparisonTable(`The log of requests, ${connections} connections`, [compared])],
    targets: [
      {
        name: 'orders with the log to without',
        wanted: `≥ ${target}`,
        measured: ratio.toFixed(3),
        met: ratio >= target,
      },
    ],
  };
}

export const workload: Workload = { module: import.meta.url, requests: orders.requests, run };
