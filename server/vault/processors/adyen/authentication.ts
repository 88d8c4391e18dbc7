import Type from 'typebox';
import { type AuthenticationResult, type CustomerAction, type NeedsCustomer, redirectTo } from '../authentication.ts';

/** What Adyen says about the authentication of the customer by the bank (3D Secure). */

const text = Type.Optional(Type.String());

/** Of `additionalData`. Adyen shows them if the account was set up for it. */
export const authenticationFields = {
  threeDOffered: text,
  threeDAuthenticated: text,
  threeDAuthenticatedResponse: text,
  threeDSVersion: text,
  liabilityShift: text,
  scaExemptionRequested: text,
  eci: text,
};
type Fields = Type.Static<ReturnType<typeof fieldsOf>>;
const fieldsOf = () => Type.Object(authenticationFields);

export const actionField = Type.Optional(
  Type.Union([Type.Object({ type: text, method: text, url: text }), Type.Null()]),
);

/** Only with GET: our pages send no form to a bank. */
function redirectIn(action: Type.Static<typeof actionField> | undefined): CustomerAction | undefined {
  const isGet = action?.type === 'redirect' && (action.method ?? 'GET') === 'GET';
  return isGet ? redirectTo(action.url) : undefined;
}

/** The bank asks the customer, and a browser can be led there. */
export function neededCustomer({ resultCode, action }: Asking): NeedsCustomer | undefined {
  const redirect = resultCode === 'RedirectShopper' ? redirectIn(action) : undefined;
  return redirect && { outcome: 'needs_customer', action: redirect };
}

interface Asking {
  readonly resultCode: string;
  readonly action?: Type.Static<typeof actionField>;
}

const plain = (value: string | undefined, form: RegExp): string | null =>
  value !== undefined && form.test(value) ? value : null;

/** By the answer of the bank. */
const statuses: Readonly<Record<string, AuthenticationResult['status']>> = {
  Y: 'authenticated',
  A: 'attempted',
  N: 'failed',
  R: 'failed',
  U: 'unavailable',
};

function statusOf(fields: Fields): AuthenticationResult['status'] | undefined {
  const { threeDOffered, threeDAuthenticated, threeDAuthenticatedResponse = '', scaExemptionRequested } = fields;
  if (threeDAuthenticated === 'true') return threeDAuthenticatedResponse === 'A' ? 'attempted' : 'authenticated';
  if (threeDOffered === 'true') return statuses[threeDAuthenticatedResponse] ?? 'unavailable';
  return scaExemptionRequested ? 'exempted' : undefined;
}

const truths: Readonly<Record<string, boolean>> = { true: true, false: false };

/** Empty if the bank was not asked about the customer, or the account does not show it. */
export function authenticationIn(
  fields: Fields | undefined,
  flow: AuthenticationResult['flow'],
): { readonly authentication?: AuthenticationResult } {
  const status = fields && statusOf(fields);
  if (!status) return {};
  const { liabilityShift = '', threeDSVersion, eci } = fields;
  return {
    authentication: {
      flow: status === 'exempted' ? null : flow,
      status,
      liabilityShifted: truths[liabilityShift] ?? null,
      version: plain(threeDSVersion, /^[\d.]{1,10}$/),
      eci: plain(eci, /^\d{1,2}$/),
    },
  };
}

/** The customer, or the bank, did not answer as needed. */
export const unsuccessful = (status: 'failed' | 'unavailable'): AuthenticationResult => ({
  flow: 'challenge',
  status,
  liabilityShifted: false,
  version: null,
  eci: null,
});
