import { decimalText } from '../server/platform/currencies.ts';
import { failureCodes, type FailureCode, failureGroups, failureReasons } from '../server/vault/processors/processor.ts';
import { failureCodes as acquirerCodes } from '../server/vault/processors/acquirer/answers.ts';
import { refusals } from '../server/vault/processors/adyen/codes.ts';
import type { KindName, ProcessorKind } from '../server/vault/processors/kind.ts';
import { processorKinds } from '../server/vault/processors/kinds.ts';
import { responseCodes } from '../server/vault/processors/nmi/codes.ts';
import type { Processor } from '../server/vault/processors/processor.ts';
import { declines } from '../server/vault/processors/stripe/codes.ts';
import { testEnvironmentOf } from '../server/vault/processors/test-cards.ts';

/** The page that compares the processors: what the code of each connector can do, and what their declines mean. */

/** Values that open an adapter. Nothing is sent. */
const samples: Readonly<Record<KindName, Readonly<Record<string, string>>>> = {
  stripe: { secret_key: 'sk_test_00000000' },
  nmi: { security_key: '0'.repeat(32) },
  adyen: { api_key: `AQE${'x'.repeat(60)}`, merchant_account: 'SvcECOM' },
  acquirer: { url: 'https://acquirer.example/', secret: 'secret' },
};

const opened = (kind: ProcessorKind): Processor =>
  kind.open(samples[kind.kind], { timeoutMs: kind.timeoutMs, extraOrigins: [] });

const yes = (is: unknown): string => (is ? 'yes' : 'no');
const seconds = (ms: number): string => (ms < 120_000 ? `${ms / 1_000} s` : `${ms / 60_000} min`);

const onceBy = { reference: 'our reference, for all time', key: 'a key, for a time', nothing: 'sending it once' };
const findsBy = { reference: 'our reference', handle: 'the ID of the prepared payment', notice: 'a notice' };

type Capability = readonly [string, (kind: ProcessorKind, processor: Processor) => string];

const capabilities: readonly Capability[] = [
  ['Executes an operation once by', (_, { onceBy: by = 'reference' }) => onceBy[by]],
  ['Finds an operation after a lost answer by', (_, { findsBy: by = 'reference' }) => findsBy[by]],
  ['Prepares a payment before money moves', (_, { prepare }) => yes(prepare)],
  ['Verifies a card with its CVC when it is saved', (_, { verify }) => yes(verify)],
  ['Sends notices to our URL', ({ sendsNotices }) => yes(sendsNotices)],
  ['Is asked for news besides', (_, { poll }) => yes(poll)],
  ['Takes answers to disputes', (_, { disputes }) => yes(disputes)],
  ['Reports how a dispute ended', ({ reportsNoDecisions }) => yes(!reportsNoDecisions)],
  ['Files of evidence', ({ evidence }) => (evidence ? `${evidence.filesMax}` : 'none')],
  ['Leads the customer to the bank (3D Secure)', (_, { resume }) => yes(resume)],
  ['Takes the result of a 3DS server of the merchant', () => 'yes'],
  ['Saves a card with its confirmation by the customer', (_, { setUp }) => yes(setUp)],
  ['Releases funds that are not captured', (_, { release }) => yes(release)],
  ['Lists what it executed, after a restore', (_, { list }) => yes(list)],
  ['Has a harmless test of the credentials', (_, { test }) => yes(test)],
  ['An answer is awaited for', ({ timeoutMs }) => seconds(timeoutMs)],
  ['A request counts as never executed after', ({ requestLifeMs }) => seconds(requestLifeMs)],
];

/** By kind, every code with what it means here. */
const meanings: Readonly<Record<KindName, readonly (readonly [string, FailureCode])[]>> = {
  stripe: [...declines].map(([code, { failureCode }]) => [code, failureCode]),
  nmi: Object.entries(responseCodes).map(([code, { failureCode }]) => [code, failureCode]),
  adyen: Object.entries(refusals).map(([code, { failureCode }]) => [code, failureCode]),
  acquirer: Object.entries(acquirerCodes),
};

const groupOf = (code: FailureCode): string =>
  Object.entries(failureGroups).find(([, codes]) => (codes as readonly string[]).includes(code))?.[0] ?? '';

const next: Readonly<Record<string, string>> = {
  soft: 'may succeed later; renewals are retried',
  card_data: 'the customer corrects the card, or uses another',
  account_status: 'the customer asks the bank, or uses another card',
  fraud: 'do not retry',
  configuration: 'correct your account or the connection',
};

type Table = (head: readonly string[], rows: readonly (readonly string[])[]) => string;

const declineRows = (): string[][] =>
  failureCodes.map((code) => {
    const codesAt = processorKinds.map(({ kind }) => {
      const own = meanings[kind].flatMap(([name, failureCode]) => (failureCode === code ? [`\`${name}\``] : []));
      return own.join(', ');
    });
    return [`\`${code}\``, failureReasons[code], next[groupOf(code)] ?? '', ...codesAt];
  });

const testRows = (): string[][] =>
  processorKinds.map(({ kind, name }) => {
    const { approved, declined, disputed } = testEnvironmentOf(kind);
    const how = declined.holderName ? `, cardholder ${declined.holderName}` : '';
    const amount = declined.amount === undefined ? '' : `, ${decimalText(declined.amount, 'usd')} USD`;
    const shown = (number: string): string => `\`${number}\``;
    return [
      name,
      `${shown(approved.number)}, CVC ${approved.cvc}`,
      `${shown(declined.number)}${how}${amount}`,
      disputed ? shown(disputed.number) : 'none',
    ];
  });

export function processorsPage(note: string, table: Table): string {
  const names = processorKinds.map(({ name }) => name);
  const adapters = processorKinds.map((kind) => [kind, opened(kind)] as const);
  return `${note}

# Processors compared

What each connector can do, as its code says. The guides of [Stripe](stripe.md), [NMI](nmi.md) and [Adyen](adyen.md) explain how, and what to ask their
support for.

## Capabilities

${table(
  ['', ...names],
  capabilities.map(([name, valueOf]) => [name, ...adapters.map(([kind, processor]) => valueOf(kind, processor))]),
)}

No connector takes part of an amount or charges in installments. NMI cannot lead the customer to the bank: use a 3DS server of your own there, or another connection.

## What a decline means

An order that is declined has one of our codes in \`failure_code\`. The last columns have the codes of the processors that lead to it; other facts of an answer, for
example advice of the card network, can change it, as the guide of the processor says.

${table(['`failure_code`', 'Meaning', 'What to do', ...names], declineRows())}

## Test environments

The processors publish numbers for tests. \`svc processors record\` pays with these at a test account, and prints what it answered:

${table(['Processor', 'Approved', 'Declined', 'Disputed'], testRows())}
`;
}
