import { setTimeout as sleep } from 'node:timers/promises';
import type { Diary } from '../../chaos/client.ts';
import type { Shops } from '../../chaos/shops.ts';

/** Repeated requests to a running service during a drill. */

export async function until(condition: () => Promise<boolean>): Promise<void> {
  while (!(await condition().catch(() => false))) await sleep(100);
}

export async function statusOf(url: string): Promise<number> {
  const response = await fetch(url, { signal: AbortSignal.timeout(4_000) });
  await response.arrayBuffer();
  return response.status;
}

/** Sends one order at a time, and records it when it is acknowledged. A shop repeats the same key until then. */
export async function ordersAt(
  url: string,
  { apiKey, goods }: Shops,
  customerId: string,
  key: string,
  diary: Diary,
): Promise<boolean> {
  const response = await fetch(`${url}/v1/orders`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${apiKey}`,
      'content-type': 'application/json',
      'x-svc-idempotency-key': key,
    },
    body: JSON.stringify({ customer_id: customerId, items: [{ product_id: goods[0]?.productId, quantity: 1 }] }),
    signal: AbortSignal.timeout(20_000),
  });
  const { id, status } = (await response.json()) as { id: string; status: string };
  if (response.status === 201) diary.answers.push({ kind: 'create', orderId: id, status, key });
  return response.status === 201;
}
