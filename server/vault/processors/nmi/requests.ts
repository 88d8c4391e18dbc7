import { decimalsOf, decimalText } from '../../../platform/currencies.ts';
import { CardNumber } from '../../card-number.ts';
import type { ExternalAuthentication } from '../authentication.ts';
import type {
  Billing,
  ChargeRequest,
  CredentialUse,
  FailureCode,
  Money,
  Outcome,
  ProcessorCard,
  RefundRequest,
  VerifyRequest,
} from '../processor.ts';

/** Converts our requests to the fields of NMI's Payment API (`transact.php`) and Query API (`query.php`). */

/** The fields that this connector sends to `transact.php`, with NMI's names. NMI has no package with types. */
interface CardFields {
  readonly ccnumber: string;
  /** MMYY. */
  readonly ccexp: string;
}

interface BillingFields {
  readonly first_name?: string;
  readonly last_name?: string;
  readonly address1?: string;
  readonly address2?: string;
  readonly city?: string;
  readonly state?: string;
  readonly zip?: string;
  readonly country?: string;
  readonly phone?: string;
  readonly email?: string;
}

interface ShippingFields {
  readonly shipping_firstname?: string;
  readonly shipping_lastname?: string;
  readonly shipping_address1?: string;
  readonly shipping_address2?: string;
  readonly shipping_city?: string;
  readonly shipping_state?: string;
  readonly shipping_zip?: string;
  readonly shipping_country?: string;
}

interface CredentialFields {
  readonly initiated_by?: 'customer' | 'merchant';
  readonly stored_credential_indicator?: 'stored' | 'used';
  /** NMI's own id of the first transaction, not the id of the card network. */
  readonly initial_transaction_id?: string;
  readonly billing_method?: 'recurring';
}

/** What a 3DS server of the merchant has found. */
interface AuthenticationFields {
  readonly cardholder_auth?: 'verified' | 'attempted';
  readonly cavv?: string;
  readonly eci?: string;
  readonly three_ds_version?: string;
  readonly directory_server_id?: string;
}

export interface SaleFields
  extends CardFields,
    BillingFields,
    ShippingFields,
    CredentialFields,
    ProcessorFields,
    AuthenticationFields {
  /** `auth` holds the funds, for a capture. */
  readonly type: 'sale' | 'auth';
  readonly orderid: string;
  readonly amount: string;
  readonly currency: string;
  /** For how long NMI refuses the same amount of the same card. */
  readonly dup_seconds: string;
  readonly cvv?: string;
  /** Of the customer. */
  readonly ipaddress?: string;
  /** What the cardholder reads on the statement, if the processor of the account takes it. */
  readonly descriptor?: string;
}

/** Which processor of the NMI account takes the card, if it has several. */
interface ProcessorFields {
  readonly processor_id?: string;
}

export interface ValidateFields extends CardFields, BillingFields, CredentialFields, ProcessorFields {
  readonly type: 'validate';
  readonly orderid: string;
  readonly cvv: string;
}

export interface RefundFields {
  readonly type: 'refund';
  readonly transactionid: string;
  readonly orderid: string;
  readonly amount: string;
}

export interface CaptureFields {
  readonly type: 'capture';
  readonly transactionid: string;
  readonly amount: string;
}

export interface VoidFields {
  readonly type: 'void';
  readonly transactionid: string;
}

export interface QueryFields {
  readonly order_id?: string;
  readonly transaction_id?: string;
  readonly report_type?: 'profile' | 'test_mode_status';
  /** With what each processor of the account requires. */
  readonly processor_details?: 'true';
  /** UTC. The transactions that were created or changed at this time or later. */
  readonly start_date?: string;
  readonly end_date?: string;
  readonly result_limit?: string;
}

function cardFields({ number, expMonth, expYear }: ProcessorCard): CardFields {
  const twoDigits = (value: number): string => String(value % 100).padStart(2, '0');
  return { ccnumber: CardNumber.open(number), ccexp: twoDigits(expMonth) + twoDigits(expYear) };
}

/** NMI has two fields for the name. The last word is the family name; a single word is one too. */
function namesOf(name: string | null): [first: string, last: string | undefined] {
  const words = name?.trim().split(/\s+/) ?? [];
  const last = words.pop();
  return [words.join(' '), last];
}

function shippingFields(shipping: ChargeRequest['shipping']): ShippingFields {
  if (!shipping) return {};
  const { name, line1, line2, city, state, postalCode, country } = shipping;
  const [firstName, lastName] = namesOf(name);
  const fields = {
    shipping_firstname: firstName,
    shipping_lastname: lastName,
    shipping_address1: line1,
    shipping_address2: line2,
    shipping_city: city,
    shipping_state: state,
    shipping_zip: postalCode,
    shipping_country: country,
  };
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value));
}

function billingFields(billing: Billing | undefined): BillingFields {
  if (!billing) return {};
  const { name, line1, line2, city, state, postalCode, country, phone, email } = billing;
  const [first_name, last_name] = namesOf(name);
  const fields = {
    first_name,
    last_name,
    address1: line1,
    address2: line2,
    city,
    state,
    zip: postalCode,
    country,
    phone,
    email,
  };
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value));
}

/**
 * NMI's ids are numbers of at most 12 digits. A card may have been verified elsewhere, and NMI would reject the
 * longer id of a card network.
 */
const isNmiId = (id: string): boolean => /^\d{1,12}$/.test(id);

function credentialFields(credential: CredentialUse | undefined): CredentialFields {
  if (!credential) return {};
  const { initiator, sequence, networkTransactionId } = credential;
  const namesFirst = initiator === 'merchant' && networkTransactionId !== null && isNmiId(networkTransactionId);
  return {
    initiated_by: initiator,
    stored_credential_indicator: sequence === 'first' ? 'stored' : 'used',
    ...(namesFirst && { initial_transaction_id: networkTransactionId }),
    ...(sequence === 'subsequent' && { billing_method: 'recurring' }),
  };
}

/** Of a card whose bank does not take part, so that only an attempt is known. */
const attempts = ['01', '06'];

function authenticationFields(authentication: ExternalAuthentication | undefined): AuthenticationFields {
  if (!authentication) return {};
  const { cavv, eci, version, directoryServerId } = authentication;
  return {
    cardholder_auth: attempts.includes(eci) ? 'attempted' : 'verified',
    cavv,
    eci,
    three_ds_version: version,
    directory_server_id: directoryServerId,
  };
}

/** What the owner of the account chose. */
export interface SaleChoices {
  readonly duplicateSeconds: number;
  readonly processorId?: string | undefined;
  readonly descriptor?: string | undefined;
}

const processorFields = (processorId: string | undefined): ProcessorFields =>
  processorId ? { processor_id: processorId } : {};

export function saleFields(
  request: ChargeRequest,
  { duplicateSeconds, processorId, descriptor }: SaleChoices,
): SaleFields {
  const { reference, amount, currency, card, cvc, billing, shipping, customerIp, credential, authorizesOnly } = request;
  const code = cvc?.reveal();
  return {
    type: authorizesOnly ? 'auth' : 'sale',
    orderid: reference,
    amount: decimalText(amount, currency),
    currency: currency.toUpperCase(),
    dup_seconds: String(duplicateSeconds),
    ...(descriptor && { descriptor }),
    ...processorFields(processorId),
    ...cardFields(card),
    ...(code !== undefined && { cvv: code }),
    ...(customerIp && { ipaddress: customerIp }),
    ...billingFields(billing),
    ...shippingFields(shipping),
    ...credentialFields(credential),
    ...authenticationFields(request.authentication),
  };
}

export function validateFields(
  { reference, card, cvc, billing }: VerifyRequest,
  { processorId }: Pick<SaleChoices, 'processorId'>,
): ValidateFields {
  return {
    type: 'validate',
    orderid: reference,
    ...processorFields(processorId),
    ...cardFields(card),
    cvv: cvc.reveal(),
    ...billingFields(billing),
    initiated_by: 'customer',
    stored_credential_indicator: 'stored',
  };
}

/**
 * The refund is a transaction of its own, and `orderid` is its order id: a lost answer is found by it. The order id of
 * the charge does not change.
 */
export function refundFields(
  { reference, amount, currency }: Pick<RefundRequest, 'reference' | 'amount' | 'currency'>,
  transactionid: string,
): RefundFields {
  return { type: 'refund', transactionid, orderid: reference, amount: decimalText(amount, currency) };
}

/** A capture is an action on the authorization, and has no order id either. */
export const captureFields = (transactionid: string, { amount, currency }: Money): CaptureFields => ({
  type: 'capture',
  transactionid,
  amount: decimalText(amount, currency),
});

/** A void is an action on the charge and has no order id: with one, it could change the order id of the charge. */
export const voidFields = (transactionid: string): VoidFields => ({ type: 'void', transactionid });

/** Formats a time as NMI does: `YYYYMMDDhhmmss`, in UTC. */
export function dateText(ms: number): string {
  return new Date(ms).toISOString().slice(0, 19).replace(/\D/g, '');
}

export function formBody(fields: object, securityKey: string): string {
  return new URLSearchParams({ security_key: securityKey, ...fields }).toString();
}

/** Returns why NMI cannot take this money; undefined if it can. Nothing is sent then. */
export function moneyProblem(
  { amount, currency }: Money,
  supported: readonly string[],
): Extract<Outcome, { outcome: 'not_sent' }> | undefined {
  const code = currency.toUpperCase();
  const problem = (reason: string, failureCode: FailureCode) =>
    ({ outcome: 'not_sent', reason, failureCode, failureReason: `${reason}.` }) as const;
  if (!Number.isSafeInteger(amount) || amount <= 0) {
    return problem('The amount must be a positive whole number', 'validation_error');
  }
  if (supported.length > 0 && !supported.includes(currency.toLowerCase())) {
    const list = supported.join(', ').toUpperCase();
    return problem(`The NMI account takes ${list} and not ${code}`, 'invalid_merchant_configuration');
  }
  if (decimalsOf(currency) <= 2) return undefined;
  return problem(`NMI takes no amounts with three decimals, as in ${code}`, 'invalid_merchant_configuration');
}
