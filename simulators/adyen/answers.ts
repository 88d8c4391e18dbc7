import type { ServerResponse } from 'node:http';
import { answer } from '../wire.ts';
import type { StoredAnswer } from './books.ts';
import { isFields } from './rules.ts';

/** The answers of the simulator, in the shapes of Adyen's documents. */

export const errorBody = (status: number, errorCode: string, errorType: string, message: string): StoredAnswer => ({
  status,
  body: { status, errorCode, errorType, message },
});
export const inProgress = errorBody(409, '704', 'validation', 'request already processed or in progress');
export const unauthorized = errorBody(401, '000', 'security', 'HTTP Status Response - Unauthorized');
export const internal = errorBody(500, '000', 'internal', 'Internal error');

export function reply(
  response: ServerResponse,
  { status, body }: StoredAnswer,
  key: string,
  isTransient = false,
): void {
  answer(response, status, body, { 'idempotency-key': key, ...(isTransient && { 'transient-error': 'true' }) });
}

/** Sends the answer, the same answer again, and bytes that are not an answer. */
export function replyTwice(response: ServerResponse, stored: StoredAnswer, key: string): void {
  const { socket } = response;
  const text = JSON.stringify(stored.body);
  const head = `HTTP/1.1 ${stored.status} OK\r\ncontent-type: application/json\r\ncontent-length: ${Buffer.byteLength(text)}\r\n\r\n`;
  response.on('finish', () => socket?.write(`${head}${text}\0not HTTP`));
  reply(response, stored, key);
}

export function unreadable(response: ServerResponse, fault: string, { status, body }: StoredAnswer): void {
  const texts: Record<string, string> = { html: '<html><body>Bad gateway</body></html>', empty: '' };
  response.writeHead(status, { 'content-type': fault === 'html' ? 'text/html' : 'application/json' });
  response.end(texts[fault] ?? JSON.stringify(body).slice(0, -20));
}

/** Answers that refuse a request before it is executed, by the fault that asks for them. */
const refusals: Readonly<Record<string, StoredAnswer & { readonly isTransient?: true }>> = {
  in_progress: { ...inProgress, isTransient: true },
  in_progress_422: {
    ...errorBody(422, '704', 'validation', 'request already processed or in progress'),
    isTransient: true,
  },
  rate_limit: errorBody(429, '000', 'internal', 'Too many requests'),
  no_role: errorBody(403, '010', 'security', 'Not allowed'),
  wrong_account: errorBody(403, '901', 'security', 'Invalid Merchant Account'),
  no_return_url: errorBody(422, '14_030', 'validation', 'Return URL is missing.'),
  not_configured: errorBody(500, '905', 'configuration', 'Payment details are not supported'),
};
export const refusingFaults = Object.keys(refusals);
export const refusalOf = (fault: string | undefined) => refusals[fault ?? ''];

/** What Adyen shows only after the account was set up for it, in Developers, Additional data. */
const bySetting = [
  ...['authCode', 'avsResult', 'cvcResult'],
  ...['threeDOffered', 'threeDOfferedResponse', 'threeDAuthenticated', 'threeDAuthenticatedResponse', 'threeDSVersion'],
  ...['liabilityShift', 'eci'],
];

/** The answer of an account as it is new: without our reference, the amount and the results of the checks. */
export function withoutSettings(body: object): object {
  if (!('resultCode' in body)) return body;
  const { amount: _amount, merchantReference: _reference, additionalData, ...rest } = body as Record<string, unknown>;
  if (!isFields(additionalData)) return rest;
  const left = Object.entries(additionalData).filter(([name]) => !bySetting.includes(name));
  return { ...rest, ...(left.length > 0 && { additionalData: Object.fromEntries(left) }) };
}
