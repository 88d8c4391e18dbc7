import { currencies } from '../../server/platform/currencies.ts';
import type { AdyenAmount } from '../../server/vault/processors/adyen/money.ts';

/** The rules of Adyen's Checkout API that the simulator enforces. */

export type Fields = Readonly<Record<string, unknown>>;

export const isFields = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

export interface Violation {
  readonly status: number;
  readonly errorCode: string;
  readonly errorType: 'validation' | 'security';
  readonly message: string;
}

const invalid = (errorCode: string, message: string): Violation => ({
  status: 422,
  errorCode,
  errorType: 'validation',
  message,
});

type Rule = (value: unknown) => boolean;
interface Shape {
  readonly required: Readonly<Record<string, Rule>>;
  readonly optional?: Readonly<Record<string, Rule>>;
}

const textUpTo =
  (lengthMax: number, lengthMin = 1): Rule =>
  (value) =>
    typeof value === 'string' && value.length >= lengthMin && value.length <= lengthMax;
const oneOf =
  (...values: string[]): Rule =>
  (value) =>
    typeof value === 'string' && values.includes(value);
const matching =
  (form: RegExp): Rule =>
  (value) =>
    typeof value === 'string' && form.test(value);
const shaped =
  (shape: Shape): Rule =>
  (value) =>
    isFields(value) && problemOf(value, shape) === undefined;

/** Returns the name of a field that is missing, unknown or wrong. */
function problemOf(fields: Fields, { required, optional = {} }: Shape): string | undefined {
  const rules = { ...required, ...optional };
  const unknown = Object.keys(fields).find((name) => !Object.hasOwn(rules, name));
  const missing = Object.keys(required).find((name) => fields[name] === undefined);
  return unknown ?? missing ?? Object.keys(fields).find((name) => rules[name]?.(fields[name]) === false);
}

const amount = shaped({
  required: {
    currency: (value) => typeof value === 'string' && /^[A-Z]{3}$/.test(value) && currencies.has(value.toLowerCase()),
    value: (value) => Number.isSafeInteger(value) && Number(value) >= 0,
  },
});
const merchantAccount = textUpTo(80);
const reference = textUpTo(80);

const card = shaped({
  required: {
    type: oneOf('scheme'),
    number: matching(/^\d{12,19}$/),
    expiryMonth: matching(/^(0[1-9]|1[0-2])$/),
    expiryYear: matching(/^20\d\d$/),
  },
  optional: { holderName: textUpTo(100), cvc: matching(/^\d{3,4}$/), networkPaymentReference: textUpTo(64) },
});

const address = shaped({
  required: {
    city: textUpTo(3000),
    country: matching(/^[A-Z]{2}$/),
    houseNumberOrName: textUpTo(3000),
    postalCode: textUpTo(10),
    street: textUpTo(3000),
  },
  optional: { stateOrProvince: matching(/^[A-Z]{2,3}$/) },
});

const count =
  (least: number): Rule =>
  (value) =>
    Number.isInteger(value) && Number(value) >= least;
const truth: Rule = (value) => typeof value === 'boolean';
const base64Of =
  (bytes: number): Rule =>
  (value) =>
    typeof value === 'string' && Buffer.from(value, 'base64').length === bytes;

/** Of the browser of the customer, who is led to the bank. */
const browserInfo = shaped({
  required: {
    acceptHeader: textUpTo(2_000),
    colorDepth: (value) => [1, 4, 8, 15, 16, 24, 30, 32, 48].includes(Number(value)),
    javaEnabled: truth,
    language: textUpTo(35),
    screenHeight: count(0),
    screenWidth: count(0),
    timeZoneOffset: (value) => Number.isInteger(value),
    userAgent: textUpTo(2_000),
  },
  optional: { javaScriptEnabled: truth },
});

/** What a server of the merchant has found. */
const mpiData = shaped({
  required: { cavv: base64Of(20), eci: matching(/^0[0-7]$/), dsTransID: textUpTo(60), threeDSVersion: textUpTo(10) },
  optional: {
    directoryResponse: oneOf('A', 'C', 'D', 'I', 'N', 'R', 'U', 'Y'),
    authenticationResponse: oneOf('Y', 'N', 'U', 'A'),
  },
});

const authenticationData = shaped({
  required: {},
  optional: {
    attemptAuthentication: oneOf('always', 'never'),
    threeDSRequestData: shaped({ required: {}, optional: { nativeThreeDS: oneOf('preferred', 'disabled') } }),
  },
});

const shapes = {
  payment: {
    required: { merchantAccount, reference, amount, paymentMethod: card, returnUrl: matching(/^https?:\/\//) },
    optional: {
      shopperReference: textUpTo(256, 3),
      shopperInteraction: oneOf('Ecommerce', 'ContAuth', 'Moto', 'POS'),
      recurringProcessingModel: oneOf('CardOnFile', 'Subscription', 'UnscheduledCardOnFile'),
      authenticationData,
      channel: oneOf('Web'),
      origin: matching(/^https?:\/\/[^/?#]+$/),
      browserInfo,
      redirectFromIssuerMethod: oneOf('GET', 'POST'),
      redirectToIssuerMethod: oneOf('GET', 'POST'),
      mpiData,
      additionalData: shaped({ required: {}, optional: { manualCapture: oneOf('true', 'false') } }),
      billingAddress: address,
      deliveryAddress: address,
      shopperStatement: matching(/^[A-Za-z0-9 .,'_?+*/-]{1,22}$/),
      shopperIP: matching(/^[0-9a-fA-F.:]{2,45}$/),
      shopperEmail: matching(/^\S+@\S+$/),
      telephoneNumber: matching(/^\+[\d ()-]{4,20}$/),
    },
  },
  details: { required: { details: shaped({ required: { redirectResult: textUpTo(10_000) } }) } },
  amount: { required: { merchantAccount, amount }, optional: { reference } },
  plain: { required: { merchantAccount }, optional: { reference } },
  technicalCancel: { required: { merchantAccount, paymentReference: reference }, optional: { reference } },
} satisfies Record<string, Shape>;

export type ShapeName = keyof typeof shapes;

/** Returns what is wrong with a request; undefined if nothing is. */
export function violationOf(shape: ShapeName, body: Fields): Violation | undefined {
  const method = isFields(body.paymentMethod) ? body.paymentMethod : {};
  if (shape === 'payment' && !matching(/^\d{12,19}$/)(method.number)) return invalid('101', 'Invalid card number');
  if ((shape === 'payment' || shape === 'amount') && !amount(body.amount)) return invalid('137', 'Invalid amount');
  const problem = problemOf(body, shapes[shape]);
  if (problem !== undefined) return invalid('702', `Structure of the request is invalid: ${problem}`);
  const isRecurring = body.recurringProcessingModel !== undefined;
  if (isRecurring && body.shopperReference === undefined) return invalid('132', 'Required field is missing');
  const isAtBank = body.channel === 'Web';
  if (isAtBank && (body.browserInfo === undefined || body.origin === undefined)) {
    return invalid('702', 'Required for 3D Secure: browserInfo and origin');
  }
  if (shape === 'amount' && (body.amount as AdyenAmount).value === 0) return invalid('137', 'Invalid amount specified');
  return undefined;
}

export const isKey = (key: unknown): key is string => textUpTo(64)(key);
