import { type FailureCode, failureReasons, type Outcome, type ProcessorResponse } from '../processor.ts';
import type { Operation } from './queries.ts';

/** What the sandbox answers. */

type Approved = Extract<Outcome, { outcome: 'approved' }>;
type Declined = Extract<Outcome, { outcome: 'declined' }>;

const responseCodes: Partial<Record<FailureCode, string>> = {
  insufficient_funds: '51',
  expired_card: '54',
  incorrect_cvv: 'N7',
  do_not_honor: '05',
};

function response(reference: string, code: string, text: string, cvv = 'M'): ProcessorResponse {
  const digits = reference.replaceAll('-', '');
  const authorized = code === '00';
  return {
    transaction_id: `sbx_${digits}`,
    authorization_code: authorized ? digits.slice(-6).toUpperCase() : null,
    avs_result: 'Y',
    cvv_result: cvv,
    response_code: code,
    response_text: text,
  };
}

export function declined(reference: string, failureCode: FailureCode, text?: string): Declined {
  const code = responseCodes[failureCode] ?? '05';
  return {
    outcome: 'declined',
    response: response(reference, code, text ?? 'Declined', failureCode === 'incorrect_cvv' ? 'N' : 'M'),
    failureCode,
    failureReason: failureReasons[failureCode],
  };
}

export function approved(reference: string, more: { settled?: boolean; chargebackAfterMs?: number } = {}): Approved {
  return { outcome: 'approved', response: response(reference, '00', 'Approved'), ...more };
}

export const fromRecord = (reference: string, operation: Operation): Approved | Declined =>
  operation.approved
    ? approved(reference, { settled: true })
    : recordedDecline(reference, operation.failure_code ?? 'processor_declined');

/** Only the bank of the sandbox records this code: it wanted to ask the customer, and could not. */
const recordedDecline = (reference: string, failureCode: FailureCode): Declined => ({
  ...declined(reference, failureCode),
  ...(failureCode === 'transaction_not_allowed' && { needsAuthentication: true }),
});
