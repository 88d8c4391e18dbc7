import { authenticationOf, chargeOf, declineBefore, declineCodeOf, refusalOf, testCardOf } from './bank.ts';
import type { Bank, Operate, Reply } from './bank-state.ts';
import {
  type Intent,
  type Method,
  newId,
  type Refund,
  remainingOf,
  showCharge,
  showDispute,
  showIntent,
  showMethod,
  showRefund,
} from './books.ts';
import { askCustomer, authenticated, challengeOf } from './challenges.ts';
import { attachMethod, createCustomer, deleteCustomer, isCustomer, refusedUse, updateCustomer } from './customers.ts';
import { cancelled, declined, pay, unexpectedState } from './payments.ts';
import { metadataOf, missing, refusal } from './rules.ts';
import { cancelSetup, checked, createSetup } from './setups.ts';

/** What the simulated Stripe does for each request that changes something. */

const ok = (body: object): Reply => ({ status: 200, body });
const createMethod: Operate = ({ books }, _id, form) => {
  const hasAddress = form.has('billing_details[address][line1]');
  const hasPostalCode = form.has('billing_details[address][postal_code]');
  const testCard = testCardOf(form.get('card[number]') ?? '');
  const method: Method = {
    id: newId('pm'),
    ...(testCard && { testCard }),
    last4: form.get('card[number]')?.slice(-4) ?? '',
    exp_month: Number(form.get('card[exp_month]')),
    exp_year: Number(form.get('card[exp_year]')),
    checks: {
      address_line1_check: hasAddress ? 'pass' : null,
      address_postal_code_check: hasPostalCode ? 'pass' : null,
      cvc_check: form.has('card[cvc]') ? 'unchecked' : null,
    },
    ...(form.has('card[cvc]') && { cvcResult: form.get('card[cvc]') === '000' ? 'fail' : 'pass' }),
  };
  return ok(showMethod(books.put('methods', method)));
};

const createIntent: Operate = ({ books, clock }, _id, form) => {
  const customerId = form.get('customer');
  if (customerId !== null && !isCustomer(books, customerId)) return missing('customer', customerId, 400);
  const intent: Intent = {
    id: newId('pi'),
    amount: Number(form.get('amount')),
    currency: form.get('currency') ?? '',
    metadata: metadataOf(form),
    customerId,
    createdMs: clock.nowMs(),
    status: 'requires_payment_method',
    ...(form.get('capture_method') === 'manual' && { isManual: true }),
    error: null,
    chargeId: null,
  };
  return ok(showIntent(books, books.put('intents', intent), false));
};

/** Why a payment is not confirmed, before any bank is asked. */
function refusedConfirmation(bank: Bank, intent: Intent | undefined, id: string, form: URLSearchParams) {
  if (!intent) return missing('payment_intent', id);
  const { books } = bank;
  if (!confirmable.includes(intent.status)) return unexpectedState(bank, intent);
  const methodId = form.get('payment_method') ?? '';
  const method = books.methods.get(methodId);
  return method ? refusedUse(books, intent, method, form) : missing('payment_method', methodId, 400);
}

const confirmable = ['requires_payment_method', 'requires_action'];

/** What the bank decides, and before it the customer. */
function answered(bank: Bank, intent: Intent, method: Method, form: URLSearchParams, fault: string | undefined): Reply {
  const isUnable = form.get('error_on_requires_action') === 'true';
  if (isUnable || authenticationOf(bank, method, form) !== 'wanted') return pay(bank, intent, method, form, fault);
  if (bank.isFrictionless) return pay(bank, intent, method, form, fault, authenticated('frictionless'));
  return askCustomer(bank, intent, challengeOf(bank, intent, method, form, fault));
}

const confirm: Operate = (bank, id, form, fault) => {
  const { books, clock } = bank;
  const intent = books.intents.get(id);
  const given = books.methods.get(form.get('payment_method') ?? '');
  const refused = refusedConfirmation(bank, intent, id, form);
  if (refused || !intent || !given) return refused ?? missing('payment_intent', id);
  const withoutCode = refusalOf(fault);
  if (withoutCode) return { status: 400, body: { error: withoutCode } };
  if (fault === 'requires_action') return askCustomer(bank, intent, challengeOf(bank, intent, given, form));
  const method = checked(bank, given);
  const before = declineBefore(bank, method, form, fault);
  if (before) {
    // If nothing was sent to a bank, and Radar had nothing to say, there is no charge.
    const open = chargeOf({ books, nowMs: clock.nowMs(), settlesAfterMs: 0 });
    const charge = before.outcome ? open(intent.id, method.id, before) : undefined;
    const error = { ...before.error, ...(charge && { charge: charge.id }), payment_method: showMethod(method) };
    return declined(bank, intent, error, charge);
  }
  const reply = answered(bank, intent, method, form, fault);
  if (reply.status === 200 && method.testCard === 'disputed') moveDispute(bank, { transaction_id: id, action: 'open' });
  return reply;
};

/** What is to be captured; ended by its time, even if the timer is late. */
function heldIntent(bank: Bank, id: string): Intent | undefined {
  const intent = bank.books.intents.get(id);
  const before = bank.books.charges.get(intent?.chargeId ?? '')?.captureBeforeMs;
  const hasEnded = intent?.status === 'requires_capture' && before !== undefined && bank.clock.nowMs() >= before;
  return hasEnded ? cancelled(bank, intent) : intent;
}

const captureHeld: Operate = (bank, id, form, fault) => {
  const { books, notices } = bank;
  const intent = heldIntent(bank, id);
  if (!intent) return missing('payment_intent', id);
  if (intent.status !== 'requires_capture') return unexpectedState(bank, intent);
  const amount = Number(form.get('amount_to_capture') ?? intent.amount);
  if (amount <= 0 || amount > intent.amount) {
    const message = 'The requested capture amount is greater than the amount you can capture for this charge.';
    return refusal(400, message, { code: 'amount_too_large', param: 'amount_to_capture' });
  }
  const code = declineCodeOf(fault);
  if (code) return refusal(402, 'The capture was refused.', { type: 'card_error', code });
  const metadata = { ...intent.metadata, ...metadataOf(form) };
  const paid = books.put('intents', { ...intent, metadata, status: 'succeeded', capturedAmount: amount });
  notices.emit('payment_intent.succeeded', showIntent(books, paid, false));
  const charge = books.charges.get(paid.chargeId ?? '');
  if (charge) notices.emit('charge.captured', { ...showCharge(books, charge), balance_transaction: null });
  return ok(showIntent(books, paid, true));
};

const cancel: Operate = (bank, id) => {
  const intent = heldIntent(bank, id);
  if (!intent) return missing('payment_intent', id);
  const isOpen = confirmable.includes(intent.status) || intent.status === 'requires_capture';
  if (!isOpen) return unexpectedState(bank, intent);
  return ok(showIntent(bank.books, cancelled(bank, intent), true));
};

/** Sends the events of a refund when it settles. */
export function watchRefund({ books, notices, clock }: Bank, refund: Refund): void {
  const report = (): void => {
    const shown = showRefund(books, refund);
    notices.emit(refund.fails === false ? 'refund.updated' : 'refund.failed', shown);
    notices.emit('charge.refund.updated', shown);
  };
  const waitMs = refund.settlesAtMs - clock.nowMs();
  if (waitMs > 0) setTimeout(report, waitMs).unref();
  else if (refund.fails !== false) report();
}

const refundLaterMs = 300;

/** Pending as long as the balance is short, or what the test card of the charge says. */
function courseOf({ books, settleAfterMs }: Bank, intent: Intent, fault: string | undefined) {
  const testCard = books.methods.get(books.charges.get(intent.chargeId ?? '')?.methodId ?? '')?.testCard;
  const fails: Refund['fails'] =
    fault === 'reject_refund' || testCard === 'refund_fails_later'
      ? 'expired_or_canceled_card'
      : fault === 'short_balance_fails' && 'insufficient_funds';
  const isLater = fault?.startsWith('short_balance') || testCard?.startsWith('refund_');
  const first = testCard === 'refund_fails_later' ? ('succeeded' as const) : ('pending' as const);
  return { fails, first, afterMs: settleAfterMs ?? (isLater ? refundLaterMs : 0) };
}

const createRefund: Operate = (bank, _id, form, fault) => {
  const { books, notices, clock } = bank;
  const intent = books.intents.get(form.get('payment_intent') ?? '');
  if (!intent) return missing('payment_intent', form.get('payment_intent') ?? '', 400);
  if (intent.status !== 'succeeded') return refusal(400, 'This PaymentIntent does not have a successful charge.');
  const isDisputed = [...books.disputes.values()].some(
    ({ intentId, status }) => intentId === intent.id && !['won', 'warning_closed'].includes(status),
  );
  if (isDisputed) return refusal(400, 'The charge has been charged back.', { code: 'charge_disputed' });
  const remaining = remainingOf(books, intent);
  if (remaining === 0) return refusal(400, 'Charge has already been refunded.', { code: 'charge_already_refunded' });
  const amount = Number(form.get('amount') ?? remaining);
  if (amount > remaining || amount <= 0) {
    return refusal(400, 'Refund amount is greater than unrefunded amount on charge', { param: 'amount' });
  }
  const declineCode = declineCodeOf(fault);
  if (declineCode) return refusal(400, 'The refund was refused.', { code: declineCode });
  const createdMs = clock.nowMs();
  const { fails, first: before, afterMs } = courseOf(bank, intent, fault);
  const refund = books.put('refunds', {
    id: newId('re'),
    intentId: intent.id,
    amount,
    metadata: metadataOf(form),
    createdMs,
    settlesAtMs: createdMs + afterMs,
    fails,
    first: before,
  });
  const shown = showRefund(books, refund);
  // Stripe accepts a refund before the bank can reject it.
  const first = fails === false ? shown : { ...shown, status: before, failure_reason: undefined };
  notices.emit('refund.created', first);
  watchRefund(bank, refund);
  return ok(first);
};

const openStates = ['needs_response', 'warning_needs_response', 'appeal_needs_response'];

const updateDispute: Operate = ({ books, notices }, id, form) => {
  const dispute = books.disputes.get(id);
  if (!dispute) return missing('dispute', id);
  if (dispute.isSubmitted) return refusal(400, 'The evidence of this dispute was already submitted.');
  if (!openStates.includes(dispute.status)) return refusal(400, 'This dispute is already closed.');
  const evidence = Object.fromEntries(
    [...form].flatMap(([name, value]) => {
      const field = /^evidence\[(.+)\]$/.exec(name)?.[1];
      return field === undefined ? [] : [[field, value]];
    }),
  );
  const status = dispute.status.replace('needs_response', 'under_review');
  const isSubmitted = form.get('submit') !== 'false';
  const submitted = isSubmitted ? { ...dispute, status, evidence, isSubmitted } : { ...dispute, evidence };
  const shown = showDispute(books, books.put('disputes', submitted));
  notices.emit('charge.dispute.updated', shown);
  return ok(shown);
};

const closeDispute: Operate = ({ books, notices }, id) => {
  const dispute = books.disputes.get(id);
  if (!dispute) return missing('dispute', id);
  if (!openStates.includes(dispute.status)) return refusal(400, 'This dispute is already closed.');
  const shown = showDispute(books, books.put('disputes', { ...dispute, status: 'lost' }));
  notices.emit('charge.dispute.closed', shown);
  return ok(shown);
};

const createFile: Operate = () => ok({ id: newId('file'), object: 'file', purpose: 'dispute_evidence' });

export const operations: Readonly<Record<string, Operate>> = {
  customers: createCustomer,
  'customers/delete': deleteCustomer,
  'customers/update': updateCustomer,
  payment_methods: createMethod,
  'payment_methods/attach': attachMethod,
  payment_intents: createIntent,
  'payment_intents/confirm': confirm,
  'payment_intents/cancel': cancel,
  'payment_intents/capture': captureHeld,
  refunds: createRefund,
  setup_intents: createSetup,
  'setup_intents/cancel': cancelSetup,
  disputes: updateDispute,
  'disputes/close': closeDispute,
  files: createFile,
};

/** `POST /control/disputes`: moves the dispute of a charge, as its bank would. */
export function moveDispute(
  { books, notices, clock }: Bank,
  body: Readonly<Record<string, unknown>>,
): object | undefined {
  const { transaction_id: intentId, action, amount } = body;
  const openStatus = { open: 'needs_response', inquiry: 'warning_needs_response' }[String(action)];
  if (typeof intentId !== 'string' || !books.intents.has(intentId)) return undefined;
  if (openStatus) {
    const opened = { id: newId('dp'), intentId, status: openStatus, createdMs: clock.nowMs(), evidence: {} };
    const dispute = typeof amount === 'number' ? { ...opened, amount } : opened;
    const shown = showDispute(books, books.put('disputes', dispute));
    notices.emit('charge.dispute.created', shown);
    if (action === 'open') notices.emit('charge.dispute.funds_withdrawn', shown);
    return shown;
  }
  const dispute = [...books.disputes.values()].findLast((found) => found.intentId === intentId);
  const status = { win: 'won', lose: 'lost', close_inquiry: 'warning_closed', second: 'appeal_needs_response' }[
    String(action)
  ];
  if (!dispute || !status) return undefined;
  const isSubmitted = dispute.isSubmitted === true && action !== 'second';
  const shown = showDispute(books, books.put('disputes', { ...dispute, status, isSubmitted }));
  if (action === 'win') notices.emit('charge.dispute.funds_reinstated', shown);
  notices.emit(action === 'second' ? 'charge.dispute.updated' : 'charge.dispute.closed', shown);
  return shown;
}
