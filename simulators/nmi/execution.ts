import { createHash } from 'node:crypto';
import { dayMs } from '../../server/platform/durations.ts';
import { responseCodes } from '../../server/vault/processors/nmi/codes.ts';
import { conditionOf, isAmount, type SimulatedAction, type SimulatedTransaction } from './books.ts';
import { checksOf, missingCode, processorOf, ruleAgainst } from './rules.ts';
import type { Simulator } from './state.ts';

/** Executes what `transact.php` is asked. There is no check for how late it is. */

/** Unless the request says otherwise. */
const duplicateSeconds = 1_200;

export type Answer = Readonly<Record<string, string>>;

/** A rejection has no transaction and often names no order. */
export const rejection = (simulator: Simulator, fields: URLSearchParams, text: string): Answer => ({
  response: '3',
  responsetext: `${text} REFID:${3_000_000_000 + Math.floor(simulator.faults.random() * 1e9)}`,
  authcode: '',
  transactionid: '',
  avsresponse: '',
  cvvresponse: '',
  orderid: simulator.faults.random() < 0.5 ? (fields.get('orderid') ?? '') : '',
  type: fields.get('type') ?? '',
  response_code: '300',
});

function answerOf(
  { id, order_id, authorization_code, avs, cvv }: SimulatedTransaction,
  action: SimulatedAction,
): Answer {
  return {
    response: action.success ? '1' : /^2|^300$/.test(action.code) ? '2' : '3',
    responsetext: action.text,
    authcode: authorization_code,
    transactionid: id,
    avsresponse: action.type === 'void' ? '' : avs,
    cvvresponse: action.type === 'void' ? '' : cvv,
    // Only a sale and an authorization answer with their order id.
    orderid: action.type === 'sale' || action.type === 'auth' ? order_id : '',
    type: action.type,
    response_code: action.code,
  };
}

function isDuplicate(simulator: Simulator, fields: URLSearchParams, nowMs: number): boolean {
  const check = simulator.settings.duplicate_check;
  if (check === 'off') return false;
  const parts = [fields.get('ccnumber'), fields.get('amount'), check === 'with_order_id' ? fields.get('orderid') : ''];
  const digest = createHash('sha256').update(parts.join(' ')).digest('hex');
  const before = simulator.recent.get(digest);
  const windowMs = Number(fields.get('dup_seconds') ?? duplicateSeconds) * 1000;
  if (before !== undefined && nowMs - before < windowMs) return true;
  simulator.recent.set(digest, nowMs);
  return false;
}

function refundProblem(
  { books }: Simulator,
  charge: SimulatedTransaction,
  amount: string,
  nowMs: number,
): string | undefined {
  if (!['pendingsettlement', 'complete'].includes(conditionOf(charge, nowMs))) return 'Transaction cannot be refunded';
  if (!isAmount(amount, charge.currency)) return 'Invalid amount';
  const isTooMuch = Number(amount.replace('.', '')) > books.balance(charge, nowMs);
  return isTooMuch ? 'Refund amount may not exceed the transaction balance' : undefined;
}

function voidProblem({ books }: Simulator, charge: SimulatedTransaction, nowMs: number): string | undefined {
  const hasRefunds = [...books.all()].some(
    (one) => one.original_id === charge.id && conditionOf(one, nowMs) !== 'failed',
  );
  const isPossible = ['pendingsettlement', 'pending'].includes(conditionOf(charge, nowMs)) && !hasRefunds;
  return isPossible ? undefined : 'Only transactions pending settlement can be voided';
}

/** An authorization is captured once, and no more than it holds. */
function captureProblem(
  { actions: [main], currency }: SimulatedTransaction,
  condition: string,
  amount: string,
): string | undefined {
  if (main?.type !== 'auth' || condition !== 'pending') {
    return 'A capture requires that the existing transaction be an AUTH';
  }
  if (!isAmount(amount, currency)) return 'Invalid amount';
  return Number(amount) > Number(main.amount) ? 'The specified amount exceeds the authorization amount' : undefined;
}

/** Executes the request and returns the answer. */
export function execute(simulator: Simulator, fields: URLSearchParams, fault: string | undefined): Answer {
  const { books, clock, faults, settings } = simulator;
  const nowMs = clock.nowMs();
  const type = fields.get('type') as 'sale' | 'auth' | 'capture' | 'refund' | 'void' | 'validate';
  const isFirst = type === 'sale' || type === 'auth';
  const reject = (text: string): Answer => rejection(simulator, fields, text);
  const keep = (transaction: SimulatedTransaction, action: SimulatedAction): Answer => {
    books.put(transaction);
    void simulator.journal.append(transaction);
    simulator.webhooks.transaction(transaction, `transaction.${type}.${action.success ? 'success' : 'failure'}`);
    return answerOf(transaction, action);
  };
  const rule = isFirst ? ruleAgainst(settings, fields) : undefined;
  // In test mode, NMI declines amounts below one unit.
  const isTooSmall = settings.test_mode && isFirst && Number(fields.get('amount')) < 1;
  const decided = rule === undefined ? (isTooSmall ? '200' : '100') : '300';
  const code = fault?.startsWith('decline:') ? fault.slice('decline:'.length) : decided;
  const success = code === '100';
  const action = (amount: string): SimulatedAction => {
    const text = success ? (type === 'void' ? 'Transaction Void Successful' : 'SUCCESS') : 'DECLINE';
    const why = rule ?? responseCodes[code]?.meaning ?? text;
    return { type, amount, at_ms: nowMs, success, code, text: success ? text : why };
  };
  const settles_at_ms = nowMs + (simulator.settleAfterMs ?? dayMs);
  const fresh = { id: books.nextId(), settles_at_ms, fails_at_settlement: fault === 'reject_refund' };

  if (isFirst || type === 'validate') {
    if (isFirst && isDuplicate(simulator, fields, nowMs)) return reject('Duplicate transaction');
    const processor = processorOf(settings, fields);
    if ('problem' in processor) return reject(processor.problem);
    const missing = missingCode(settings, fields);
    if (missing !== undefined) return reject(missing);
    if (code === '300' && rule === undefined) return reject('Transaction was rejected by gateway');
    const made = action(fields.get('amount') ?? '0.00');
    return keep(
      {
        ...fresh,
        order_id: fields.get('orderid') ?? '',
        original_id: null,
        currency: fields.get('currency') ?? 'USD',
        first6: (fields.get('ccnumber') ?? '').slice(0, 6),
        last4: (fields.get('ccnumber') ?? '').slice(-4),
        processor_id: processor.id,
        authorization_code: success ? String(100_000 + Math.floor(faults.random() * 900_000)) : '',
        ...checksOf(fields),
        actions: [made],
      },
      made,
    );
  }

  const charge = books.find(fields.get('transactionid') ?? '');
  if (!charge || !['sale', 'auth'].includes(charge.actions[0]?.type ?? '')) return reject('Transaction not found');
  const condition = conditionOf(charge, nowMs);
  if (code === '300') return reject('Transaction was rejected by gateway');
  if (type === 'capture') {
    const problem = captureProblem(charge, condition, fields.get('amount') ?? '');
    if (problem !== undefined) return reject(problem);
    const made = action(fields.get('amount') ?? '');
    return success
      ? keep({ ...charge, settles_at_ms, actions: [...charge.actions, made] }, made)
      : answerOf(charge, made);
  }
  if (type === 'void') {
    const problem = voidProblem(simulator, charge, nowMs);
    if (problem !== undefined) return reject(problem);
    const made = action(charge.actions[0]?.amount ?? '0.00');
    return success ? keep({ ...charge, actions: [...charge.actions, made] }, made) : answerOf(charge, made);
  }
  const amount = fields.get('amount') ?? charge.actions[0]?.amount ?? '0.00';
  const refused = refundProblem(simulator, charge, amount, nowMs);
  if (refused !== undefined) return reject(refused);
  const made = action(amount);
  const order_id = settings.ignores_refund_order ? charge.order_id : (fields.get('orderid') ?? '');
  const { currency, first6, last4, processor_id } = charge;
  const blank = { authorization_code: '', avs: '', cvv: '' };
  const sameCard = { currency, first6, last4, processor_id };
  return keep({ ...fresh, ...blank, ...sameCard, order_id, original_id: charge.id, actions: [made] }, made);
}
