import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { assertRefused } from './orders.ts';
import type { CallOptions, Reply, TestService } from './service.ts';

/** Creates coupons, and reads the records of their use. */

export const postCoupon = (
  service: TestService,
  body: Record<string, unknown>,
  options: CallOptions = {},
): Promise<Reply> => service.call('POST', '/v1/coupons', { body, idempotencyKey: randomUUID(), ...options });

export interface SomeCoupon {
  readonly id: string;
  /** The first of its codes. */
  readonly code: string;
  readonly body: Reply['body'];
}

/** Creates a coupon with 10% off and one code, unless the overrides differ. */
export async function someCoupon(
  service: TestService,
  more: Record<string, unknown> = {},
  options: CallOptions = {},
): Promise<SomeCoupon> {
  const discount = 'amount' in more ? { currency: 'usd' } : { percentage: 10 };
  const codes = more.kind === 'promo' ? {} : { codes: { count: 1 } };
  const reply = await postCoupon(service, { name: 'Tea week', ...discount, ...codes, ...more }, options);
  assert.equal(reply.status, 201, reply.text);
  return { id: reply.body.id, code: reply.body.codes[0]?.code, body: reply.body };
}

export async function readCoupon(service: TestService, id: string, options: CallOptions = {}): Promise<Reply['body']> {
  const reply = await service.call('GET', `/v1/coupons/${id}`, options);
  assert.equal(reply.status, 200, reply.text);
  return reply.body;
}

export const patchCoupon = (
  service: TestService,
  id: string,
  body: Record<string, unknown>,
  options: CallOptions = {},
): Promise<Reply> => service.call('PATCH', `/v1/coupons/${id}`, { body, ...options });

export const validate = (
  service: TestService,
  body: Record<string, unknown>,
  options: CallOptions = {},
): Promise<Reply> => service.call('POST', '/v1/coupons/validate', { body, ...options });

/** Returns counted and reserved redemptions, after checking that all counters agree. */
export async function tally(service: TestService, couponId: string): Promise<[counted: number, reserved: number]> {
  const [row] = await service.db.query<Record<string, number>>(
    `SELECT c.used, c.total_redemptions,
       (SELECT coalesce(sum(k.used), 0)::integer FROM coupon_codes k WHERE k.coupon_id = c.id) AS code_used,
       (SELECT coalesce(sum(k.redemptions), 0)::integer FROM coupon_codes k WHERE k.coupon_id = c.id) AS code_counted,
       (SELECT count(*)::integer FROM coupon_redemptions r WHERE r.coupon_id = c.id) AS rows_used,
       (SELECT count(*)::integer FROM coupon_redemptions r WHERE r.coupon_id = c.id AND r.counted) AS rows_counted
     FROM coupons c WHERE c.id = $1`,
    [couponId],
  );
  assert.ok(row);
  const { used = -1, total_redemptions = -1 } = row;
  assert.deepEqual([row.code_used, row.rows_used], [used, used], 'what is used is the same everywhere');
  assert.deepEqual([row.code_counted, row.rows_counted], [total_redemptions, total_redemptions], 'so is what counts');
  return [total_redemptions, used - total_redemptions];
}

/** Asserts the error of an order or a subscription whose code cannot be used. */
export function assertNotUsable(reply: Reply, reason: string): void {
  assertRefused(reply, 400, 'validation_error', 'coupon_code');
  const [problem, ...more] = reply.body.error.field_errors;
  assert.deepEqual([problem.field, problem.code, more], ['coupon_code', 'invalid_value', []]);
  assert.ok(problem.message.includes(reason), `${reason} in: ${problem.message}`);
  assert.ok(reply.body.error.message.includes(reason), `${reason} in: ${reply.body.error.message}`);
}
