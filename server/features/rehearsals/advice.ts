import type { Order } from '../orders/schemas.ts';
import type { Stage } from './stage.ts';

/** What a person does about an answer that is wrong: one or two sentences. */

const guideOf = ({ kind }: Pick<Stage, 'kind'>): string => `/docs/processors/${kind.kind}`;

type Advise = (stage: Stage) => string;

/** By failure code. Others are in the guide of the processor. */
const byCode: Readonly<Record<string, Advise>> = {
  invalid_merchant_configuration: ({ kind, ...stage }) =>
    `${kind.name} refuses the account or its credentials, not the card. Check the permissions of the credentials and that the account may send card numbers: ${guideOf({ kind, ...stage })}.`,
  transaction_not_allowed: ({ kind }) =>
    `The account asks for an authentication of the cardholder, or does not take this currency. Rehearse in another currency, or ask ${kind.name} about 3-D Secure.`,
  incorrect_cvv: ({ kind }) =>
    `The account wants a security code with every payment, or has a rule about it. Ask the support of ${kind.name} to turn the rule off for stored cards.`,
  validation_error: ({ kind, ...stage }) =>
    `${kind.name} does not take a field of the request. Compare the settings of the account with ${guideOf({ kind, ...stage })}.`,
  issuer_unavailable: ({ kind }) => `${kind.name} did not answer. Look at its status page, and rehearse again.`,
};

/** About a payment that was to succeed. */
export function adviceOnPayment(stage: Stage, order: Order | undefined): string {
  const { kind, connection } = stage;
  if (
    order?.failure_code === 'invalid_merchant_configuration' &&
    connection.code_wanted_at &&
    kind.securityCodeRequest
  ) {
    return `Write to the support of ${kind.name}: “${kind.securityCodeRequest}”`;
  }
  const advise = byCode[order?.failure_code ?? ''];
  if (advise) return advise(stage);
  return `Look up the payment in your account at ${kind.name}, and read why it was refused: ${guideOf(stage)}.`;
}

export const adviceOnNotices = (stage: Stage): string => {
  const { connection, kind } = stage;
  if (connection.notice_refused_at) {
    return `A notice was refused: ${connection.notice_refusal ?? 'unreadable'}. Copy the secret of the webhook from ${kind.name} again, and enter it with Replace credentials.`;
  }
  return `Enter the notice URL of this connection in the test account at ${kind.name}. It must be reachable from the internet: ${guideOf(stage)}.`;
};

export const adviceOnDispute = ({ kind }: Stage): string =>
  `Add the events about disputes to the webhook of the test account at ${kind.name}.`;

export const adviceOnDecline = ({ kind }: Stage): string =>
  `This is the answer of ${kind.name} to a test card that it documents as declined. Check that the account is in test mode and has no rules of its own.`;

export const adviceOnRefund = ({ kind }: Stage): string =>
  `Check that the credentials may refund, and that the account at ${kind.name} has a balance in test mode.`;

export const adviceOnReference = ({ kind }: Stage): string =>
  `Turn on the network transaction reference in the account at ${kind.name}. Without it, renewals have no link to the first payment, and banks decline more of them.`;
