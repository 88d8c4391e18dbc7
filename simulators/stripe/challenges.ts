import { type Visit, withParameters } from '../bank-page.ts';
import { authenticationFailed } from './bank.ts';
import type { Bank, Reply } from './bank-state.ts';
import {
  type Challenge,
  type Intent,
  type Method,
  newId,
  type Setup,
  showIntent,
  showMethod,
  type ThreeDSecure,
} from './books.ts';
import { notAuthenticated, pay } from './payments.ts';

/** Payments and cards whose bank asks the customer, who confirms or refuses on the page of the bank. */

/** How a bank recognized its customer. */
export const authenticated = (flow: 'challenge' | 'frictionless'): ThreeDSecure => ({
  authentication_flow: flow,
  electronic_commerce_indicator: '05',
  exemption_indicator: null,
  result: 'authenticated',
  result_reason: null,
  transaction_id: newId('3ds'),
  version: '2.2.0',
});

const refused: ThreeDSecure = {
  ...authenticated('challenge'),
  electronic_commerce_indicator: '07',
  result: 'failed',
  result_reason: 'rejected',
};

/** The form contains no card data; what a server of the merchant has found is not kept. */
export function challengeOf(
  { origin }: Bank,
  { id }: Pick<Intent, 'id'>,
  method: Method,
  form: URLSearchParams,
  fault?: string,
): Challenge {
  const returnUrl = form.get('return_url');
  return {
    url: `${origin}/bank/${id}`,
    methodId: method.id,
    form: form.toString(),
    ...(returnUrl !== null && { returnUrl }),
    ...(fault && { fault }),
  };
}

/** The bank wants the customer to confirm the payment. */
export function askCustomer({ books }: Bank, intent: Intent, challenge: Challenge): Reply {
  const waiting = books.put('intents', { ...intent, status: 'requires_action', error: null, challenge });
  return { status: 200, body: showIntent(books, waiting, true) };
}

/** Ends the saving of a card. Its events are not among those that the documents ask merchants to select. */
export function endSetup({ books }: Bank, setup: Setup, changes: Partial<Setup>): Setup {
  const ended = books.put('setups', { ...setup, ...changes });
  const method = books.methods.get(setup.methodId);
  if (ended.status === 'succeeded' && method && setup.customerId) {
    books.put('methods', { ...method, customerId: setup.customerId, isSetUp: true });
  }
  return ended;
}

function decideSetup(bank: Bank, setup: Setup, isPassed: boolean): void {
  const method = bank.books.methods.get(setup.methodId);
  const error = authenticationFailed('setup', { ...(method && { payment_method: showMethod(method) }) }).error;
  const changes: Partial<Setup> = isPassed
    ? { status: 'succeeded', threeDSecure: authenticated('challenge') }
    : { status: 'requires_payment_method', error, threeDSecure: refused };
  endSetup(bank, setup, changes);
}

function decidePayment(bank: Bank, intent: Intent, isPassed: boolean): void {
  const { methodId = '', form = '', fault } = intent.challenge ?? {};
  const method = bank.books.methods.get(methodId);
  if (!method) return;
  if (!isPassed) return void notAuthenticated(bank, intent, method);
  pay(bank, intent, method, new URLSearchParams(form), fault, authenticated('challenge'));
}

/** What Stripe adds to the return URL, also after a payment has ended. */
function parametersOf(row: Intent | Setup): Readonly<Record<string, string>> {
  const name = row.id.startsWith('seti_') ? 'setup_intent' : 'payment_intent';
  const isGood = ['succeeded', 'processing', 'requires_capture'].includes(row.status);
  return {
    [name]: row.id,
    [`${name}_client_secret`]: `${row.id}_secret_x`,
    redirect_status: isGood ? 'succeeded' : 'failed',
  };
}

/** The customer at the page of the bank. */
export function visitOf(bank: Bank, id: string, durable: () => Promise<void>): Visit | undefined {
  const { books } = bank;
  const find = (): Intent | Setup | undefined => books.intents.get(id) ?? books.setups.get(id);
  const row = find();
  const { returnUrl } = row?.challenge ?? {};
  if (!row || returnUrl === undefined) return undefined;
  const last4 = books.methods.get(row.challenge?.methodId ?? '')?.last4;
  const money = 'amount' in row ? `${row.amount} ${row.currency}` : 'the card is saved';
  return {
    subject: `${money}, card ending in ${last4}`,
    isOpen: row.status === 'requires_action',
    async decide(isPassed) {
      const current = find();
      if (current?.status !== 'requires_action') return;
      if ('amount' in current) decidePayment(bank, current, isPassed);
      else decideSetup(bank, current, isPassed);
      await durable();
    },
    returnUrl: () => withParameters(returnUrl, parametersOf(find() ?? row)),
    forgedUrl: () => withParameters(returnUrl, { ...parametersOf({ ...row, status: 'succeeded' }) }),
  };
}
