import { randomBytes } from 'node:crypto';
import { refusals } from '../../server/vault/processors/adyen/codes.ts';
import type { AdyenAmount } from '../../server/vault/processors/adyen/money.ts';
import type { PaymentLine, Wanted } from './books.ts';
import { type Fields, isFields } from './rules.ts';
import type { Simulator } from './state.ts';

/** What the simulated banks are asked to pay, and what they answer. */

/** Adyen's references have 16 letters and digits. They are not all digits here, so that none looks like a card. */
export function newReference(): string {
  const letters = 'BCDFGHJKLMNPQRSTVWXZ23456789';
  const characters = [...randomBytes(15)].map((byte) => letters[byte % letters.length]);
  return `F${characters.join('')}`;
}

const isWrongCvc = (cvc: unknown): boolean => cvc === '000';

function checksOf(
  { reportsNetworkReferences }: Simulator,
  { paymentMethod, billingAddress }: Fields,
): Record<string, string> {
  const { cvc, networkPaymentReference } = isFields(paymentMethod) ? paymentMethod : {};
  const postalCode = isFields(billingAddress) ? billingAddress.postalCode : undefined;
  const matches =
    postalCode === '00000' ? '2 Neither postal code nor address match' : '7 Both postal code and address match';
  return {
    avsResult: postalCode === undefined ? '5 No AVS data provided' : matches,
    cvcResult: cvc === undefined ? '6 No CVC/CVV provided' : isWrongCvc(cvc) ? "2 Doesn't match" : '1 Matches',
    ...(reportsNetworkReferences && {
      networkTxReference:
        typeof networkPaymentReference === 'string'
          ? networkPaymentReference
          : `MCC${randomBytes(6).toString('hex').toUpperCase()}`,
    }),
  };
}

/** The test environment refuses cards whose holder has one of these names. */
const testRefusals: Readonly<Record<string, string>> = { DECLINED: '2', NOT_ENOUGH_BALANCE: '12' };

/** What the bank is asked with this request. */
export function wantedOf(simulator: Simulator, body: Fields, fault: string | undefined): Wanted {
  const { number, cvc, holderName } = body.paymentMethod as { number: string; cvc?: string; holderName?: string };
  const asked = body.amount as AdyenAmount;
  const declineCode = fault?.startsWith('decline:') ? String(Number(fault.slice('decline:'.length))) : undefined;
  return {
    psp: newReference(),
    reference: String(body.reference),
    amount: fault === 'partial' ? { ...asked, value: Math.ceil(asked.value / 2) } : asked,
    last4: number.slice(-4),
    isManual: isFields(body.additionalData) && body.additionalData.manualCapture === 'true',
    refusal: declineCode ?? testRefusals[holderName ?? ''] ?? (isWrongCvc(cvc) ? '24' : null),
    ...((fault === 'partial' || fault === 'pending') && { unusual: fault }),
    additionalData: checksOf(simulator, body),
  };
}

const unusualResults = { partial: 'PartiallyAuthorised', pending: 'Pending' };

/** Asks the bank to pay. */
export function ask(simulator: Simulator, wanted: Wanted, key: string, pausedId?: string): PaymentLine {
  const { options, notices, books } = simulator;
  const { psp, reference, amount, last4, isManual, refusal, unusual } = wanted;
  const reason = refusal === null ? undefined : (refusals[refusal]?.name ?? 'Refused');
  const resultCode = refusal === null ? (unusual ? unusualResults[unusual] : 'Authorised') : 'Refused';
  const body = {
    merchantReference: reference,
    resultCode,
    pspReference: psp,
    ...(refusal === null ? { amount } : { refusalReason: reason, refusalReasonCode: refusal }),
    additionalData: {
      ...wanted.additionalData,
      ...(refusal === null && { authCode: String(100_000 + books.size) }),
    },
  };
  const isAuthorized = refusal === null;
  notices.add({
    eventCode: 'AUTHORISATION',
    pspReference: psp,
    merchantReference: reference,
    amount,
    isSuccess: isAuthorized,
    // What the account shows in its answers it shows in its notices.
    ...(simulator.account.additional_data && { additionalData: body.additionalData }),
    ...(reason !== undefined && { reason }),
  });
  return {
    type: 'payment',
    psp,
    reference,
    amount,
    last4,
    isAuthorized,
    refusal,
    isCaptured: isAuthorized && !isManual && amount.value > 0,
    atMs: options.clock.nowMs(),
    key,
    answer: { status: 200, body },
    ...(pausedId !== undefined && { pausedId }),
  };
}
