import assert from 'node:assert/strict';
import { browser } from './bank.ts';
import type { Reply, TestService } from './service.ts';

/** The customer on the page that confirms one payment, and at the bank of the sandbox. */

export const pathOf = (order: Reply['body']): string => new URL(order.authentication_url).pathname;

export const onPage = (service: TestService, path: string, part: string, body?: object): Promise<Reply> => {
  const headers = { origin: service.baseUrl, 'user-agent': 'Mozilla/5.0 (X11; Linux x86_64) Firefox/140.0' };
  return service.call(body ? 'POST' : 'GET', `${path}/${part}`, { key: null, headers, ...(body && { body }) });
};

/** Presses the button of the page. */
export async function begin(service: TestService, path: string): Promise<Reply> {
  const { declines } = (await onPage(service, path, 'payment')).body;
  return onPage(service, path, 'confirm', { declines, browser });
}

/** Returns the parameters with which the browser comes back. */
export async function atBank(
  service: TestService,
  url: string,
  answer: 'confirm' | 'refuse',
): Promise<Record<string, string>> {
  const { pathname, search } = new URL(url);
  const reply = await fetch(`${service.baseUrl}${pathname}/${answer}${search}`, { redirect: 'manual' });
  const location = reply.headers.get('location');
  assert.ok(location, `${reply.status} ${await reply.text()}`);
  return Object.fromEntries(new URL(location).searchParams);
}

/** The whole way: the page, the bank, and back. Returns what the page shows then. */
export async function answered(
  service: TestService,
  path: string,
  answer: 'confirm' | 'refuse',
): Promise<Reply['body']> {
  const { body } = await begin(service, path);
  const returned = await atBank(service, body.next_action.url, answer);
  return (await onPage(service, path, 'resume', { returned })).body;
}
