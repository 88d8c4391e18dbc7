import type { OperationKind } from '../processor.ts';

/** The terms that the acquirer and its adapter share; docs/acquirer.md defines them. */

export const defaultRequestLifeMs = 60_000;

export const responseTexts = {
  '00': 'Approved',
  '01': 'Refer to card issuer',
  '03': 'Invalid merchant',
  '05': 'Do not honor',
  '06': 'Error',
  '12': 'Invalid transaction',
  '13': 'Invalid amount',
  '14': 'Invalid card number',
  '21': 'No action taken',
  '25': 'Unable to locate record',
  '30': 'Format error',
  '41': 'Lost card',
  '43': 'Stolen card',
  '46': 'Closed account',
  '51': 'Insufficient funds',
  '54': 'Expired card',
  '57': 'Transaction not permitted to cardholder',
  '59': 'Suspected fraud',
  '61': 'Exceeds amount limit',
  '62': 'Restricted card',
  '65': 'Exceeds frequency limit',
  '82': 'Incorrect CVC',
  '91': 'Issuer unavailable',
  '94': 'Duplicate transmission',
} as const;

export type ResponseCode = keyof typeof responseTexts;
export type DeclineCode = Exclude<ResponseCode, '00'>;

export { type OperationKind, operationKinds } from '../processor.ts';

/** An operation as the acquirer reports it. */
export interface Operation {
  readonly kind: OperationKind;
  readonly reference: string;
  /** The charge or authorization that a capture, refund or void refers to. */
  readonly charge_reference: string | null;
  /** Null for the void of an unknown charge. */
  readonly amount: number | null;
  readonly currency: string | null;
  readonly last4: string | null;
  /** Of an authorization: until when it can be captured. */
  readonly capture_before_ms?: number;
  /** `rejected`: a refund that was accepted and later rejected at settlement. */
  readonly status: 'approved' | 'declined' | 'rejected';
  readonly settled: boolean;
  readonly voided: boolean;
  readonly response_code: string;
  readonly response_text: string;
  readonly transaction_id: string;
  readonly authorization_code: string | null;
  readonly taken_at_ms: number;
}

/** The acquirer's clock at the time of the lookup; every answer about a reference contains it. */
export interface Dated {
  readonly now_ms: number;
}
