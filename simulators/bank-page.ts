import type { IncomingMessage, ServerResponse } from 'node:http';
import { readBody } from './wire.ts';

/**
 * The page of a bank that asks its customer to confirm a payment, as each simulated processor shows it at `/bank/ID`. It needs no
 * secret: the browser of the customer opens it.
 */

/** What the customer does there; a test sends the name as the field `choice`. */
const buttons = {
  pass: 'Confirm',
  fail: 'Refuse',
  back: 'Go back without an answer',
  close: 'Close the window',
  pass_and_close: 'Confirm and close the window',
  fail_and_close: 'Refuse and close the window',
  pass_later: 'Go back, and the bank confirms later',
  fail_later: 'Go back, and the bank refuses later',
  forge: 'Go back with a forged answer',
} as const;
type Choice = keyof typeof buttons;

/** A payment or card that waits for its customer. */
export interface Visit {
  /** What the customer confirms, for example `49.00 USD, card ending in 4242`. */
  readonly subject: string;
  /** Whether the customer can still answer. If not, the page leads back. */
  readonly isOpen: boolean;
  /** Records the answer. Has no effect if it is not open any more. */
  decide(isPassed: boolean): Promise<void>;
  /** Where the customer goes back to, with what the processor adds. It is asked for after the answer was recorded. */
  returnUrl(): string;
  /** The same with made-up values. */
  forgedUrl(): string;
}

const laterMs = 300;

const escaped = (text: string): string => text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);

const pageOf = (content: string): string =>
  '<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">' +
  `<title>Your bank</title></head><body><main><h1>Your bank</h1>${content}</main></body></html>`;

function formOf({ subject }: Visit): string {
  const choices = Object.entries(buttons).map(
    ([name, label]) => `<p><button name="choice" value="${name}">${label}</button></p>`,
  );
  return pageOf(`<p>Confirm your payment: ${escaped(subject)}</p><form method="post">${choices.join('')}</form>`);
}

function show(response: ServerResponse, status: number, html: string): void {
  response.writeHead(status, { 'content-type': 'text/html; charset=utf-8', 'cache-control': 'no-store' });
  response.end(html);
}

function leadTo(response: ServerResponse, location: string): void {
  response.writeHead(303, { location, 'cache-control': 'no-store', 'content-length': 0 });
  response.end();
}

async function choiceIn(request: IncomingMessage): Promise<Choice | undefined> {
  const body = await readBody(request);
  const choice = new URLSearchParams(body?.toString('utf8') ?? '').get('choice') ?? '';
  return Object.hasOwn(buttons, choice) ? (choice as Choice) : undefined;
}

/** A browser may come twice, also after the answer: then the page leads back as before. */
async function act(visit: Visit, choice: Choice, response: ServerResponse): Promise<void> {
  const [answer = '', when] = choice.split('_');
  const isAnswer = answer === 'pass' || answer === 'fail';
  if (isAnswer && when === 'later') setTimeout(() => void visit.decide(answer === 'pass'), laterMs);
  else if (isAnswer) await visit.decide(answer === 'pass');
  if (when === 'and' || choice === 'close') return show(response, 200, pageOf('<p>You can close this window.</p>'));
  leadTo(response, choice === 'forge' ? visit.forgedUrl() : visit.returnUrl());
}

/** Answers a request of a browser. */
export async function showBankPage(
  visit: Visit | undefined,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const choice = request.method === 'POST' ? await choiceIn(request) : undefined;
  if (!visit) return show(response, 404, pageOf('<p>There is nothing to confirm.</p>'));
  if (!visit.isOpen) return leadTo(response, visit.returnUrl());
  return choice ? act(visit, choice, response) : show(response, 200, formOf(visit));
}

/** The URL with further parameters. */
export function withParameters(url: string, parameters: Readonly<Record<string, string>>): string {
  const target = new URL(url);
  for (const [name, value] of Object.entries(parameters)) target.searchParams.set(name, value);
  return target.href;
}
