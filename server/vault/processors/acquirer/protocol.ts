import { type OperationKind, operationKinds } from '../processor.ts';

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
  '1A': 'Customer authentication required',
  '1F': 'Customer authentication failed',
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

/** A verification saves a card without a payment, so it is no operation of the service. */
export const protocolKinds = [...operationKinds, 'verification'] as const;
export type ProtocolKind = (typeof protocolKinds)[number];

/** How the customer was authenticated. */
export interface ShownAuthentication {
  readonly flow: 'challenge' | 'frictionless' | null;
  readonly status: 'authenticated' | 'attempted' | 'exempted' | 'failed' | 'unavailable';
  readonly liability_shifted: boolean | null;
  readonly version: string | null;
  readonly eci: string | null;
}

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
  /**
   * `rejected`: a refund that was accepted and later rejected at settlement. `needs_customer`: the bank asks the customer;
   * `ended`: given up before the customer answered, and never executed.
   */
  readonly status: 'approved' | 'declined' | 'rejected' | 'needs_customer' | 'ended';
  /** Where the customer is led to, while it is `needs_customer`. */
  readonly action?: { readonly url: string };
  /** Until when the customer can answer, if the acquirer ends it. */
  readonly expires_at_ms?: number;
  readonly authentication?: ShownAuthentication;
  readonly settled: boolean;
  readonly voided: boolean;
  readonly response_code: string;
  readonly response_text: string;
  readonly transaction_id: string;
  readonly authorization_code: string | null;
  readonly taken_at_ms: number;
}

/** An operation, or a verification. */
export type Shown = Omit<Operation, 'kind'> & { readonly kind: ProtocolKind };

/** The acquirer's clock at the time of the lookup; every answer about a reference contains it. */
export interface Dated {
  readonly now_ms: number;
}
