import { hash } from 'node:crypto';
import type { BillingAddress } from '@adyen/api-library/lib/src/typings/checkout/billingAddress.js';
import type { BrowserInfo } from '@adyen/api-library/lib/src/typings/checkout/browserInfo.js';
import type { CardDetails } from '@adyen/api-library/lib/src/typings/checkout/cardDetails.js';
import type { PaymentCancelRequest } from '@adyen/api-library/lib/src/typings/checkout/paymentCancelRequest.js';
import type { PaymentCaptureRequest } from '@adyen/api-library/lib/src/typings/checkout/paymentCaptureRequest.js';
import type { PaymentDetailsRequest } from '@adyen/api-library/lib/src/typings/checkout/paymentDetailsRequest.js';
import type { PaymentMethodsRequest } from '@adyen/api-library/lib/src/typings/checkout/paymentMethodsRequest.js';
import type { PaymentRefundRequest } from '@adyen/api-library/lib/src/typings/checkout/paymentRefundRequest.js';
import type { PaymentRequest } from '@adyen/api-library/lib/src/typings/checkout/paymentRequest.js';
import type { PaymentReversalRequest } from '@adyen/api-library/lib/src/typings/checkout/paymentReversalRequest.js';
import type { StandalonePaymentCancelRequest } from '@adyen/api-library/lib/src/typings/checkout/standalonePaymentCancelRequest.js';
import { CardNumber } from '../../card-number.ts';
import type {
  Billing,
  ChargeRequest,
  CredentialUse,
  HeldCode,
  Presence,
  ProcessorCard,
  VerifyRequest,
} from '../processor.ts';
import type { BrowserDetails, ExternalAuthentication } from '../authentication.ts';
import type { SetUpRequest } from '../setup.ts';
import type { AdyenAmount } from './money.ts';

/** Our requests in the words of Adyen's Checkout API, version 72. */

/** A request as it is sent: an enum of the vendor's package is its text. */
type Wire<Body> = Body extends string
  ? `${Body}`
  : Body extends Date
    ? string
    : Body extends readonly (infer Item)[]
      ? readonly Wire<Item>[]
      : Body extends object
        ? { readonly [Field in keyof Body]: Wire<Body[Field]> }
        : Body;

export const checkoutVersion = 'v72';

/** Adyen requires a URL, but uses it only for authentication, which is not attempted without the customer. */
const unusedReturnUrl = 'https://example.com/';

const keyLengthMax = 64;

/**
 * The key under which Adyen executes a request once. The steps of one operation have keys of their own: `c` captures,
 * `x` cancels, `t` cancels by our reference, `d` and a hash passes on what a customer came back with.
 */
export function keyOf(reference: string, step?: string): string {
  const key = step === undefined ? reference : `${reference}:${step}`;
  return key.length <= keyLengthMax ? key : hash('sha256', key, 'hex');
}

/**
 * The reference that a refund, a void or a later capture has at Adyen. The prefix tells its notices from those of a refund that a person
 * made at Adyen, which have the reference of the payment.
 */
export const modificationReferenceOf = (kind: 'refund' | 'void' | 'capture', reference: string): string =>
  `${kind}-${reference}`;

/** Returns our reference of such a modification; undefined if the service did not request the modification. */
export function referenceOfModification(merchantReference: string): string | undefined {
  return /^(?:refund|void|capture)-([A-Za-z0-9-]{1,64})$/.exec(merchantReference)?.[1];
}

interface PaymentContent {
  readonly merchantAccount: string;
  readonly reference: string;
  readonly amount: AdyenAmount;
  readonly card: ProcessorCard;
  readonly cvc?: HeldCode;
  readonly credential?: CredentialUse;
  readonly billing?: Billing;
  readonly shipping?: ChargeRequest['shipping'];
  readonly customerIp?: string;
  readonly presence?: Presence;
  readonly authentication?: ExternalAuthentication;
  /** Asks the bank of each card to authenticate the customer, also where no rule requires it. */
  readonly wantsAuthentication?: boolean;
  /** What the cardholder reads on the statement. */
  readonly descriptor?: string | undefined;
}

type Interaction = Pick<Wire<PaymentRequest>, 'shopperInteraction' | 'recurringProcessingModel'>;

/** Without the cardholder, the bank must learn that an earlier payment or verification gave the permission. */
function interactionOf(credential: CredentialUse | undefined): Interaction {
  if (!credential) return { shopperInteraction: 'Ecommerce' };
  const { initiator, sequence } = credential;
  if (initiator === 'customer') {
    return {
      shopperInteraction: sequence === 'first' ? 'Ecommerce' : 'ContAuth',
      recurringProcessingModel: 'CardOnFile',
    };
  }
  const recurringProcessingModel = sequence === 'subsequent' ? 'Subscription' : 'UnscheduledCardOnFile';
  return { shopperInteraction: 'ContAuth', recurringProcessingModel };
}

function cardOf({ card, cvc, credential, billing }: PaymentContent) {
  const first = credential?.sequence === 'first' ? null : credential?.networkTransactionId;
  const code = cvc?.reveal();
  return {
    type: 'scheme',
    number: CardNumber.open(card.number),
    expiryMonth: String(card.expMonth).padStart(2, '0'),
    expiryYear: String(card.expYear),
    ...(billing?.name && { holderName: billing.name }),
    ...(code !== undefined && { cvc: code }),
    ...(first && { networkPaymentReference: first }),
  } satisfies Wire<CardDetails>;
}

const withState = ['US', 'CA'];

/** Adyen wants the house number in a field of its own. */
function streetOf(line: string): Pick<Wire<BillingAddress>, 'street' | 'houseNumberOrName'> {
  const [, before, after] = /^(\d+\S*)\s+(\S.*)$/.exec(line) ?? [];
  if (before && after) return { houseNumberOrName: before, street: after };
  const [, street, number] = /^(\S.*?)\s+(\d+\S*)$/.exec(line) ?? [];
  return street && number ? { street, houseNumberOrName: number } : { street: line, houseNumberOrName: 'N/A' };
}

const stateCodeOf = (state: string | null | undefined): string | undefined =>
  state && /^[A-Za-z]{2,3}$/.test(state) ? state.toUpperCase() : undefined;

/** Adyen refuses an incomplete address, so only a complete one is sent. */
function addressOf(given: Omit<Billing, 'email'> | undefined): Wire<BillingAddress> | undefined {
  const { line1, city, postalCode, state } = given ?? {};
  const country = given?.country?.toUpperCase();
  if (!line1 || !city || !postalCode || !country) return undefined;
  const stateCode = stateCodeOf(state);
  if (withState.includes(country) && stateCode === undefined) return undefined;
  return {
    ...streetOf(line1.trim()),
    city,
    country,
    postalCode: postalCode.slice(0, country === 'US' ? 5 : 10),
    ...(stateCode !== undefined && { stateOrProvince: stateCode }),
  } satisfies Wire<BillingAddress>;
}

/** Adyen takes only these. */
const colorDepths = [1, 4, 8, 15, 16, 24, 30, 32, 48];

/** Without a script, nothing is known of the screen. */
const withoutScript: BrowserDetails = {
  language: 'en',
  colorDepth: 24,
  screenHeight: 0,
  screenWidth: 0,
  timeZoneOffsetMinutes: 0,
};

function browserOf({ userAgent, acceptHeader, browser }: Presence) {
  const { language, colorDepth, screenHeight, screenWidth, timeZoneOffsetMinutes } = browser ?? withoutScript;
  return {
    userAgent,
    acceptHeader,
    language,
    colorDepth: colorDepths.includes(colorDepth) ? colorDepth : 24,
    screenHeight,
    screenWidth,
    timeZoneOffset: timeZoneOffsetMinutes,
    javaEnabled: false,
    javaScriptEnabled: browser !== undefined,
  } satisfies Wire<BrowserInfo>;
}

/** Of a card whose bank does not take part, so that only an attempt is known. */
const attempts = ['01', '06'];

type AuthenticationFields = Pick<
  Wire<PaymentRequest>,
  | 'returnUrl'
  | 'authenticationData'
  | 'mpiData'
  | 'channel'
  | 'origin'
  | 'browserInfo'
  | 'redirectFromIssuerMethod'
  | 'redirectToIssuerMethod'
>;

/** The bank may ask a customer who is present, on a page of the bank. Without the customer, the bank asks no one. */
function authenticationOf({ presence, authentication, wantsAuthentication }: PaymentContent): AuthenticationFields {
  if (authentication) {
    const { cavv, eci, directoryServerId: dsTransID, version: threeDSVersion } = authentication;
    const directoryResponse = attempts.includes(eci) ? 'A' : 'Y';
    return { returnUrl: unusedReturnUrl, mpiData: { cavv, eci, dsTransID, threeDSVersion, directoryResponse } };
  }
  if (!presence) return { returnUrl: unusedReturnUrl, authenticationData: { attemptAuthentication: 'never' } };
  return {
    returnUrl: presence.returnUrl,
    channel: 'Web',
    origin: new URL(presence.returnUrl).origin,
    browserInfo: browserOf(presence),
    redirectFromIssuerMethod: 'GET',
    redirectToIssuerMethod: 'GET',
    authenticationData: {
      ...(wantsAuthentication && { attemptAuthentication: 'always' }),
      threeDSRequestData: { nativeThreeDS: 'disabled' },
    },
  };
}

/** An authorization that is captured only on request: it moves no money. */
function paymentOf(content: PaymentContent) {
  const { merchantAccount, reference, amount, card, credential, billing, shipping, customerIp, descriptor } = content;
  const billingAddress = addressOf(billing);
  const deliveryAddress = addressOf(shipping);
  return {
    merchantAccount,
    reference,
    amount,
    paymentMethod: cardOf(content),
    shopperReference: card.cardId,
    ...interactionOf(credential),
    ...authenticationOf(content),
    additionalData: { manualCapture: 'true' },
    ...(billingAddress && { billingAddress }),
    ...(deliveryAddress && { deliveryAddress }),
    ...(descriptor && { shopperStatement: descriptor }),
    ...(customerIp && { shopperIP: customerIp }),
    ...(billing?.email && { shopperEmail: billing.email }),
    ...(billing?.phone?.startsWith('+') && { telephoneNumber: billing.phone }),
  } satisfies Wire<Omit<PaymentRequest, 'paymentMethod'>> & { paymentMethod: Wire<CardDetails> };
}

export const authorizationOf = (
  request: ChargeRequest,
  merchantAccount: string,
  amount: AdyenAmount,
  descriptor?: string,
) => paymentOf({ ...request, merchantAccount, amount, descriptor });

/** Adyen checks a card with an amount of zero. The result allows later charges without the cardholder. */
export function verificationRequestOf(
  { reference, card, cvc, billing }: VerifyRequest,
  merchantAccount: string,
  currency: string,
) {
  const credential = { initiator: 'customer', sequence: 'first', networkTransactionId: null } as const;
  const amount = { currency, value: 0 };
  return paymentOf({ merchantAccount, reference, amount, card, cvc, credential, ...(billing && { billing }) });
}

/** As a check of a card, but the bank may ask the customer, and the result allows charges without the customer. */
export function setUpRequestOf(
  { startsSeries = false, ...request }: SetUpRequest,
  merchantAccount: string,
  currency: string,
) {
  const credential = { initiator: 'customer', sequence: 'first', networkTransactionId: null } as const;
  const body = paymentOf({
    ...request,
    merchantAccount,
    amount: { currency, value: 0 },
    credential,
    wantsAuthentication: true,
  });
  return { ...body, recurringProcessingModel: startsSeries ? 'Subscription' : 'UnscheduledCardOnFile' } as const;
}

/** What the customer came back with. */
export const detailsOf = (redirectResult: string) =>
  ({ details: { redirectResult } }) satisfies Wire<PaymentDetailsRequest>;

export const captureOf = (merchantAccount: string, reference: string, amount: AdyenAmount) =>
  ({ merchantAccount, reference, amount }) satisfies Wire<PaymentCaptureRequest>;

export const refundOf = (merchantAccount: string, reference: string, amount: AdyenAmount) =>
  ({ merchantAccount, reference, amount }) satisfies Wire<PaymentRefundRequest>;

export const reversalOf = (merchantAccount: string, reference: string) =>
  ({ merchantAccount, reference }) satisfies Wire<PaymentReversalRequest>;

export const cancelOf = (merchantAccount: string, reference: string) =>
  ({ merchantAccount, reference }) satisfies Wire<PaymentCancelRequest>;

/** Cancels an authorization whose `pspReference` is not known. */
export const technicalCancelOf = (merchantAccount: string, paymentReference: string) =>
  ({ merchantAccount, paymentReference, reference: paymentReference }) satisfies Wire<StandalonePaymentCancelRequest>;

export const paymentMethodsOf = (merchantAccount: string) =>
  ({ merchantAccount }) satisfies Wire<PaymentMethodsRequest>;
