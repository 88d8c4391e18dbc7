import { compare, comparisonTable, type Compared } from './compare.ts';
import { seedCustomers, someIds } from './customer-data.ts';
import { createCustomer, errorTargets, inTurn } from './customers.ts';
import type { Bench, Report, RequestMaker, Workload } from './workload.ts';

/** `npm run bench capture`: captures cards, compared with a bare server that stores a row of about the same size. */

let captured = 0;

function newCard(): object {
  captured += 1;
  const number = `4${String(process.pid % 10_000).padStart(4, '0')}${String(captured).padStart(11, '0')}`;
  return { number, exp_month: '12', exp_year: '2032', cvc: '999' };
}

const requests: Record<string, RequestMaker> = {
  bare: () => createCustomer,
  capture: ({ ids }) => {
    const nextId = inTurn(ids);
    return () => ({ method: 'POST', path: '/capture', body: { customer_id: nextId(), card: newCard() } });
  },
  token: () => () => ({ method: 'POST', path: '/v1/card_tokens', body: { card: newCard() } }),
};

const target = 0.3;

async function run(bench: Bench): Promise<Report> {
  const { environment, options } = bench;
  await seedCustomers(environment, Math.min(options.rows, 100_000));
  const bare = await environment.startBareServer();
  const ours = await environment.startService('ours');
  const ids = await someIds(environment, 'customers', 20_000);
  const compared: Compared[] = [];
  for (const [title, request] of [
    ['capture', 'capture'],
    ['card token', 'token'],
  ] as const) {
    compared.push(
      await compare(bench, {
        title,
        module: import.meta.url,
        connections: 32,
        seconds: options.seconds ?? 4,
        warmUpSeconds: 3,
        candidates: [
          { name: 'bare', server: bare, request: 'bare' },
          { name: 'ours', server: ours, request, data: { ids } },
        ],
      }),
    );
  }
  const ratios = compared.map(({ title, measured }) => ({ title, ratio: measured[1]?.ratio ?? 0 }));
  return {
    tables: [comparisonTable('Cards, 32 connections', compared)],
    targets: [
      ...ratios.map(({ title, ratio }) => ({
        name: `${title}, ratio to bare`,
        wanted: `≥ ${target}`,
        measured: ratio.toFixed(2),
        met: ratio >= target,
      })),
      ...errorTargets(compared),
    ],
  };
}

export const workload: Workload = { module: import.meta.url, requests, run };
