import { randomBytes } from 'node:crypto';
import { type Visit, withParameters } from '../bank-page.ts';
import { ask } from './authorization.ts';
import type { Books, DetailsLine, Paused, PausedLine, PaymentLine, Wanted } from './books.ts';
import { type Fields, isFields, type Violation } from './rules.ts';
import { type AccountSettings, type Simulator, write } from './state.ts';

/** Payments for which the bank asks the customer: paused until the customer has answered. */

/** The test card whose bank asks for each payment. */
const askingCard = '4212345678901237';

const withoutShopper = ['Subscription', 'UnscheduledCardOnFile'];

/** Without the customer. */
export const isByMerchant = (body: Fields): boolean =>
  body.shopperInteraction === 'ContAuth' && withoutShopper.includes(String(body.recurringProcessingModel));

const wishOf = ({ authenticationData }: Fields): unknown =>
  isFields(authenticationData) ? authenticationData.attemptAuthentication : undefined;

const isLinked = ({ paymentMethod }: Fields): boolean =>
  isFields(paymentMethod) && paymentMethod.networkPaymentReference !== undefined;

/** What the bank does before it pays. A payment of the merchant needs the link to one that the customer confirmed. */
export function stepOf(
  { wants_authentication, frictionless }: AccountSettings,
  body: Fields,
  fault: string | undefined,
): 'pay' | 'refuse' | 'recognize' | 'ask' | 'ask_in_vain' {
  if (body.mpiData !== undefined) return 'pay';
  if (isByMerchant(body)) return wants_authentication && !isLinked(body) ? 'refuse' : 'pay';
  const isAtBank = body.channel === 'Web';
  if (fault?.startsWith('authentication')) return isAtBank ? 'ask' : 'ask_in_vain';
  if (isFields(body.paymentMethod) && body.paymentMethod.number === askingCard) return isAtBank ? 'ask' : 'refuse';
  const wish = wishOf(body);
  if (!wants_authentication) return wish === 'always' ? 'recognize' : 'pay';
  if (wish === 'never' || !isAtBank) return 'refuse';
  return frictionless ? 'recognize' : 'ask';
}

/** What Adyen reports of an authentication, if the account was set up for it. */
const authenticationFields = (status: 'Y' | 'N') => ({
  threeDOffered: 'true',
  threeDOfferedResponse: 'Y',
  threeDAuthenticated: String(status === 'Y'),
  threeDAuthenticatedResponse: status,
  threeDSVersion: '2.2.0',
  liabilityShift: String(status === 'Y'),
  eci: status === 'Y' ? '05' : '07',
});

const withFields = (wanted: Wanted, status: 'Y' | 'N'): Wanted => ({
  ...wanted,
  additionalData: { ...wanted.additionalData, ...authenticationFields(status) },
});

export const recognized = (wanted: Wanted): Wanted => withFields(wanted, 'Y');

/** With characters that have to be encoded in a URL. */
const newResult = (): string => `X6XtfGC3!Y${randomBytes(24).toString('base64')}`;

/** The customer is led to the bank. */
export function pause(
  { origin }: Simulator,
  wanted: Wanted,
  body: Fields,
  key: string,
  redirectMethod: 'GET' | 'POST' = 'GET',
): PausedLine {
  const id = randomBytes(16).toString('hex');
  const url = `${origin}/bank/${id}`;
  const form = { data: { MD: id, PaReq: 'eNpVUttygjAQ', TermUrl: body.returnUrl } };
  const action = {
    paymentMethodType: 'scheme',
    url,
    method: redirectMethod,
    type: 'redirect',
    ...(redirectMethod === 'POST' && form),
  };
  return {
    type: 'paused',
    id,
    redirectResult: newResult(),
    returnUrl: String(body.returnUrl),
    wanted,
    key,
    answer: { status: 200, body: { resultCode: 'RedirectShopper', action } },
  };
}

const invalid = (errorCode: string, message: string): Violation => ({
  status: 422,
  errorCode,
  errorType: 'validation',
  message,
});

const pausedIn = (books: Books, { details }: Fields): Paused | undefined =>
  isFields(details) ? books.paused(String(details.redirectResult)) : undefined;

/** The result of a redirect counts once; a repetition with another key is refused. */
export function problemOfDetails(books: Books, body: Fields): Violation | undefined {
  const paused = pausedIn(books, body);
  if (!paused) return invalid('14_018', 'Invalid payload provided');
  return paused.hasDetails ? invalid('704', 'request already processed or in progress') : undefined;
}

const decided = (wanted: Wanted, isPassed: boolean): Wanted =>
  isPassed ? withFields(wanted, 'Y') : { ...withFields(wanted, 'N'), refusal: '11' };

/** The bank is asked to pay, if the customer has confirmed. */
const settled = (simulator: Simulator, { id, wanted }: Paused, isPassed: boolean, key: string): PaymentLine =>
  ask(simulator, decided(wanted, isPassed), key, id);

/** The answer to `/payments/details`. */
export function completed(
  simulator: Simulator,
  { body, key }: { body: Fields; key: string },
): PaymentLine | DetailsLine {
  const { books } = simulator;
  const paused = pausedIn(books, body);
  if (!paused) throw new Error('the details of no payment');
  const { id, wanted, isPassed } = paused;
  const { psp: pspReference, reference: merchantReference, amount } = wanted;
  const before = books.payment(pspReference);
  if (before) return { type: 'details', of: id, key, answer: before.answer };
  if (isPassed !== undefined) return settled(simulator, paused, isPassed, key);
  const pending = { resultCode: 'Pending', pspReference, merchantReference, amount };
  return { type: 'details', of: id, key, answer: { status: 200, body: pending } };
}

/** The customer at the page of the bank. */
export function visitOf(simulator: Simulator, id: string): Visit | undefined {
  const { books, journal, account } = simulator;
  const paused = books.paused(id);
  if (paused?.id !== id) return undefined;
  const { returnUrl, redirectResult, wanted } = paused;
  const { amount, last4 } = wanted;
  return {
    subject: `${amount.value} ${amount.currency}, card ending in ${last4}`,
    isOpen: paused.isPassed === undefined,
    async decide(isPassed) {
      if (books.paused(id)?.isPassed !== undefined) return;
      write(simulator, { type: 'decision', of: id, isPassed });
      const current = books.paused(id);
      if (current && (current.hasDetails || account.completes_alone)) {
        // Without the mark of its details, which may still come.
        write(simulator, ask(simulator, decided(wanted, isPassed), `alone:${id}`));
      }
      await journal.durable();
    },
    returnUrl: () => withParameters(returnUrl, { redirectResult }),
    forgedUrl: () => withParameters(returnUrl, { redirectResult: newResult() }),
  };
}
