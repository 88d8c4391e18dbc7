import { randomUUID } from 'node:crypto';
import type { JobResult } from './client.ts';
import { median } from './compare.ts';
import { connections, openShop, post } from './orders.ts';
import { undisturbed } from './undisturbed.ts';
import { watchOthers } from './processes.ts';
import type { Bench, Cell, Report, RequestMaker, Workload } from './workload.ts';

/** `npm run bench coupons`: orders with the same coupon, compared with orders without one. */

const requests: Record<string, RequestMaker> = {
  order: ({ customers = [], products = [], codes = [] }) => {
    let sent = 0;
    return () => {
      sent += 1;
      const [product_id] = products;
      return {
        method: 'POST',
        path: '/v1/orders',
        headers: { 'X-SVC-Idempotency-Key': randomUUID() },
        body: {
          customer_id: customers[sent % customers.length],
          items: [{ product_id, quantity: 1 }],
          ...(codes.length > 0 && { coupon_code: codes[sent % codes.length] }),
        },
      };
    };
  },
};

async function run(bench: Bench): Promise<Report> {
  const { environment, options, note, client } = bench;
  const seconds = options.seconds ?? 8;
  const service = await environment.startService('ours');
  const { customers, products } = await openShop(service, environment.key);
  const coupon = { name: 'Tea week', percentage: 12.5, max_redemptions: 100_000_000, codes: { count: 1_000 } };
  const generated = (await post(service, environment.key, '/v1/coupons', coupon)) as { codes: { code: string }[] };
  const promo = { kind: 'promo', name: 'TEA', amount: 500, currency: 'usd', max_redemptions: 100_000_000 };
  await post(service, environment.key, '/v1/coupons', promo);
  const kinds: Readonly<Record<string, readonly string[]>> = {
    none: [],
    'one code for all': ['TEA'],
    'a thousand codes': generated.codes.map(({ code }) => code),
  };
  const measure = async (
    codes: readonly string[],
    forSeconds: number,
  ): Promise<JobResult & { othersShare: number }> => {
    const others = watchOthers(environment.postgresPid);
    const result = await client.run({
      module: import.meta.url,
      request: 'order',
      baseUrl: service.baseUrl,
      key: environment.key,
      connections,
      seconds: forSeconds,
      data: { customers, products, codes },
    });
    return { ...result, othersShare: others() ?? 0 };
  };
  const rates: Record<string, { perSecond: number; p99Ms: number }[]> = {};
  const statuses = new Set<string>();
  for (const codes of Object.values(kinds)) await measure(codes, 2);
  for (let round = 1; round <= options.rounds; round += 1) {
    for (const [kind, codes] of Object.entries(kinds)) {
      await environment.sql.query('CHECKPOINT');
      const result = await undisturbed(() => measure(codes, seconds));
      (rates[kind] ??= []).push({ perSecond: result.perSecond, p99Ms: result.p99Ms });
      for (const status of Object.keys(result.statuses)) statuses.add(status);
      note(`round ${round}, ${kind}: ${Math.round(result.perSecond)}/s`);
    }
  }
  const plain = rates.none ?? [];
  const ratioOf = (kind: string): number =>
    median((rates[kind] ?? []).map(({ perSecond }, index) => perSecond / (plain[index]?.perSecond ?? Number.NaN)));
  const kindsWithCoupon = Object.keys(kinds).filter((kind) => kind !== 'none');
  return {
    tables: [
      {
        title: `Orders with a coupon, ${connections} connections`,
        columns: ['coupon', 'orders/s', 'p99 ms', 'ratio'],
        rows: Object.keys(kinds).map((kind): Cell[] => [
          kind,
          Math.round(median((rates[kind] ?? []).map(({ perSecond }) => perSecond))),
          Number(median((rates[kind] ?? []).map(({ p99Ms }) => p99Ms)).toFixed(1)),
          Number(ratioOf(kind).toFixed(2)),
        ]),
      },
    ],
    targets: [
      ...kindsWithCoupon.map((kind) => ({
        name: `ratio with ${kind}`,
        wanted: '≥ 0.8',
        measured: ratioOf(kind).toFixed(2),
        met: ratioOf(kind) >= 0.8,
      })),
      {
        name: 'answers',
        wanted: '201',
        measured: [...statuses].join(),
        met: statuses.size === 1 && statuses.has('201'),
      },
    ],
  };
}

export const workload: Workload = { module: import.meta.url, requests, run };
