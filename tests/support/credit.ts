import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { examine } from '../../cli/doctor.ts';
import type { Scene } from './billing.ts';
import type { Reply, TestService } from './service.ts';

/** Helpers for the credit of customers. */

export async function grant(
  service: TestService,
  { key, customer_id }: Pick<Scene, 'key' | 'customer_id'>,
  amount: number,
  more: Record<string, unknown> = {},
): Promise<Reply['body']> {
  const body = { type: 'grant', amount, currency: 'usd', reason: 'Late delivery', ...more };
  const options = { key, body, idempotencyKey: randomUUID() };
  const reply = await service.call('POST', `/v1/customers/${customer_id}/credit`, options);
  assert.equal(reply.status, 201, reply.text);
  return reply.body;
}

export async function creditOf(
  service: TestService,
  { key, customer_id }: Pick<Scene, 'key' | 'customer_id'>,
): Promise<{ readonly balance: number; readonly entries: readonly (readonly [type: string, amount: number])[] }> {
  const { status, body, text } = await service.call('GET', `/v1/customers/${customer_id}/credit?limit=100`, { key });
  assert.equal(status, 200, text);
  return {
    balance: body.balances.find(({ currency }: { currency: string }) => currency === 'usd')?.amount ?? 0,
    entries: body.entries.map(({ type, amount }: { type: string; amount: number }) => [type, amount] as const),
  };
}

/** The books add up. */
export async function checkBooks(service: TestService): Promise<void> {
  const named = (await examine(service.db)).map(({ check }) => check);
  const about = [
    'credit_miscounted',
    'credit_of_order_differs',
    'charged_other_amount',
    'paid_without_charge',
    'refunded_amount_differs',
  ];
  assert.deepEqual(
    named.filter((name) => about.includes(name)),
    [],
  );
}
