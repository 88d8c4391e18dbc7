import { randomInt } from 'node:crypto';
import { decimalsOf, minorUnits } from '../../server/platform/currencies.ts';
import { dateText } from '../../server/vault/processors/nmi/requests.ts';

/** The books of the simulator NMI: transactions with their actions. Of a card they keep only what a receipt may show. */

export interface SimulatedAction {
  readonly type: 'sale' | 'auth' | 'capture' | 'refund' | 'void' | 'settle' | 'chargeback' | 'validate';
  readonly amount: string;
  readonly at_ms: number;
  readonly success: boolean;
  readonly code: string;
  readonly text: string;
}

export interface SimulatedTransaction {
  readonly id: string;
  readonly order_id: string;
  readonly original_id: string | null;
  readonly currency: string;
  readonly first6: string | null;
  readonly last4: string | null;
  /** Which processor of the account took it. */
  readonly processor_id: string;
  readonly authorization_code: string;
  readonly avs: string;
  readonly cvv: string;
  readonly actions: readonly SimulatedAction[];
  readonly settles_at_ms: number;
  readonly fails_at_settlement: boolean;
  /** When the card network gave back what had settled. */
  readonly returned_at_ms?: number;
}

/** A row of `GET /journal`, as a chaos run compares it with our books. */
export interface SimulatedOperation {
  readonly kind: 'charge' | 'authorization' | 'capture' | 'refund' | 'void';
  /** Null for a void, which has no reference at NMI. */
  readonly reference: string | null;
  readonly charge_reference: string | null;
  readonly amount: number | undefined;
  readonly currency: string;
  readonly last4: string | null;
  readonly status: 'approved' | 'declined' | 'rejected';
  readonly settled: boolean;
  readonly voided: boolean;
  readonly transaction_id: string;
  readonly taken_at_ms: number;
}

export interface Books {
  find(id: string): SimulatedTransaction | undefined;
  /** Adds it, or replaces it with its later state. */
  put(transaction: SimulatedTransaction): void;
  nextId(): string;
  /** The smallest units of a charge that are not refunded. */
  balance(charge: SimulatedTransaction, nowMs: number): number;
  all(): Iterable<SimulatedTransaction>;
  readonly size: number;
}

const main = ({ actions }: SimulatedTransaction): SimulatedAction => actions[0] as SimulatedAction;
const isVoided = ({ actions }: SimulatedTransaction): boolean => actions.some(({ type }) => type === 'void');

const captureOf = ({ actions }: SimulatedTransaction): SimulatedAction | undefined =>
  actions.find(({ type, success }) => type === 'capture' && success);

/** What was taken: of an authorization, the amount of its capture. */
const taken = (transaction: SimulatedTransaction): SimulatedAction => captureOf(transaction) ?? main(transaction);

export function conditionOf(transaction: SimulatedTransaction, nowMs: number): string {
  if (!main(transaction).success) return 'failed';
  if (isVoided(transaction)) return 'canceled';
  if (main(transaction).type === 'auth' && !captureOf(transaction)) return 'pending';
  if (nowMs < transaction.settles_at_ms) return 'pendingsettlement';
  if (transaction.returned_at_ms !== undefined && nowMs >= transaction.returned_at_ms) return 'failed';
  return transaction.fails_at_settlement ? 'failed' : 'complete';
}

function actionsOf(transaction: SimulatedTransaction, nowMs: number): readonly SimulatedAction[] {
  const { actions, settles_at_ms: at_ms, fails_at_settlement } = transaction;
  const isHeld = main(transaction).type === 'auth' && !captureOf(transaction);
  const isSettled = main(transaction).success && !isVoided(transaction) && !isHeld && nowMs >= at_ms;
  if (!isSettled || main(transaction).type === 'validate') return actions;
  const result = fails_at_settlement ? { success: false, code: '400', text: 'REJECTED' } : null;
  const settle = {
    type: 'settle',
    amount: taken(transaction).amount,
    at_ms,
    success: true,
    code: '100',
    text: '',
  } as const;
  const rejection = { success: false, code: '400', text: 'RETURNED' } as const;
  const { returned_at_ms } = transaction;
  const isReturned = returned_at_ms !== undefined && nowMs >= returned_at_ms;
  const returned = isReturned ? [{ ...settle, ...rejection, at_ms: returned_at_ms }] : [];
  return [...actions, { ...settle, ...result }, ...returned];
}

export const changedAtMs = (transaction: SimulatedTransaction, nowMs: number): number =>
  Math.max(...actionsOf(transaction, nowMs).map(({ at_ms }) => at_ms));

const escaped = (text: string): string =>
  text.replace(/[<>&"']/g, (character) => `&#${character.charCodeAt(0)};`).replace(/[\0-\x08]/g, '');

const element = (name: string, text: string): string => `<${name}>${escaped(text)}</${name}>`;

export function transactionXml(transaction: SimulatedTransaction, nowMs: number): string {
  const { id, order_id, original_id, currency, last4, processor_id } = transaction;
  const actions = actionsOf(transaction, nowMs).map(({ type, amount, at_ms, success, code, text }) => {
    // Refunds are negative in reports.
    const sign = type === 'refund' || (type === 'settle' && main(transaction).type === 'refund') ? '-' : '';
    const fields = [
      element('amount', sign + amount),
      element('action_type', type),
      element('date', dateText(at_ms)),
      // Reports of voids have no success.
      type === 'void' ? '' : element('success', success ? '1' : '0'),
      element('source', 'api'),
      element('response_text', text),
      element('response_code', code),
    ];
    return `<action>${fields.join('')}</action>`;
  });
  const fields = [
    element('transaction_id', id),
    element('transaction_type', 'cc'),
    element('condition', conditionOf(transaction, nowMs)),
    element('order_id', order_id),
    element('authorization_code', transaction.authorization_code),
    element('processor_id', processor_id),
    element('currency', currency),
    element('cc_number', last4 === null ? '' : `4xxxxxxxxxxx${last4}`),
    element('avs_response', transaction.avs),
    element('csc_response', transaction.cvv),
    original_id === null ? '' : element('original_transaction_id', original_id),
    '<merchant_defined_field id="1"></merchant_defined_field>',
  ];
  return `<transaction>${fields.join('')}${actions.join('')}</transaction>`;
}

export const reportXml = (content: string): string =>
  `<?xml version="1.0" encoding="UTF-8"?>\n<nm_response>\n${content}\n</nm_response>\n`;

export function operationsOf(books: Books, nowMs: number): SimulatedOperation[] {
  return [...books.all()].flatMap((transaction): SimulatedOperation[] => {
    const { id, order_id, original_id, currency, last4, actions } = transaction;
    const { type, amount, success, at_ms } = main(transaction);
    if (type !== 'sale' && type !== 'auth' && type !== 'refund') return [];
    const condition = conditionOf(transaction, nowMs);
    const charge = original_id === null ? undefined : books.find(original_id);
    const row: SimulatedOperation = {
      kind: ({ sale: 'charge', auth: 'authorization', refund: 'refund' } as const)[type],
      reference: order_id,
      charge_reference: charge?.order_id ?? null,
      amount: minorUnits(amount, currency),
      currency: currency.toLowerCase(),
      last4,
      status: !success ? 'declined' : condition === 'failed' ? 'rejected' : 'approved',
      settled: condition === 'complete',
      voided: condition === 'canceled',
      transaction_id: id,
      taken_at_ms: at_ms,
    };
    const capture = type === 'auth' ? captureOf(transaction) : undefined;
    if (capture) {
      // A capture has no reference at NMI.
      const ofCapture = { reference: null, charge_reference: order_id, last4: null, taken_at_ms: capture.at_ms };
      const held: SimulatedOperation = { ...row, status: 'approved', settled: false, voided: false };
      return [held, { ...row, ...ofCapture, kind: 'capture', amount: minorUnits(capture.amount, currency) }];
    }
    const voids = actions
      .filter((action) => action.type === 'void')
      .map((action): SimulatedOperation => {
        return {
          ...row,
          kind: 'void',
          reference: null,
          charge_reference: order_id,
          voided: false,
          taken_at_ms: action.at_ms,
        };
      });
    return [row, ...voids];
  });
}

export function openBooks(): Books {
  const transactions = new Map<string, SimulatedTransaction>();
  let lastId = 5_000_000_000 + randomInt(1_000_000);
  return {
    find: (id) => transactions.get(id),
    put(transaction) {
      transactions.set(transaction.id, transaction);
      lastId = Math.max(lastId, Number(transaction.id));
    },
    nextId: () => String((lastId += 1)),
    balance(charge, nowMs) {
      const refunds = [...transactions.values()].filter(
        (one) => one.original_id === charge.id && conditionOf(one, nowMs) !== 'failed' && main(one).type === 'refund',
      );
      const units = (one: SimulatedTransaction): number => minorUnits(taken(one).amount, one.currency) ?? 0;
      return units(charge) - refunds.reduce((sum, one) => sum + units(one), 0);
    },
    all: () => transactions.values(),
    get size() {
      return transactions.size;
    },
  };
}

/** Amounts have exactly the decimals of the currency. */
export function isAmount(text: string, currency: string): boolean {
  const decimals = decimalsOf(currency);
  const form = decimals === 0 ? /^\d{1,10}$/ : new RegExp(`^\\d{1,10}\\.\\d{${decimals}}$`);
  return form.test(text) && Number(text) > 0;
}
