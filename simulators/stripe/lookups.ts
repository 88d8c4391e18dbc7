import { createHash } from 'node:crypto';
import type { Reply } from './bank-state.ts';
import {
  balanceId,
  type Books,
  showBalanceTransaction,
  showCharge,
  showDispute,
  showIntent,
  showMethod,
  showRefund,
  showSetup,
} from './books.ts';
import { isCustomer, methodsOf, showCustomer } from './customers.ts';
import { refusal } from './rules.ts';

/** What the simulated Stripe shows to requests that change nothing. */

interface Lookable {
  readonly books: Books;
  readonly clock: Books['clock'];
  readonly secret: string;
  readonly searchLagMs: number;
}

/** The customers that are not deleted, with the cards that are saved with them. */
export const customersOf = (books: Books): object[] =>
  [...books.customers.values()]
    .filter(({ isDeleted }) => !isDeleted)
    .map((customer) => ({ ...showCustomer(customer), methods: methodsOf(books, customer.id).map(({ id }) => id) }));

const list = (data: readonly object[], has_more = false): object => ({ object: 'list', data, has_more });

function page<Row extends { id: string; createdMs: number }>(
  rows: Iterable<Row>,
  query: URLSearchParams,
  show: (row: Row) => object,
): object {
  const limit = Number(query.get('limit') ?? 10);
  const from = Number(query.get('created[gte]') ?? 0);
  const until = Number(query.get('created[lt]') ?? Number.MAX_SAFE_INTEGER);
  const inPeriod = [...rows].filter(({ createdMs }) => {
    const created = Math.floor(createdMs / 1_000);
    return created >= from && created < until;
  });
  const newestFirst = inPeriod.toReversed();
  const after = query.get('starting_after');
  const start = after === null ? 0 : newestFirst.findIndex(({ id }) => id === after) + 1;
  const shown = newestFirst.slice(start, start + limit);
  return list(shown.map(show), start + limit < newestFirst.length);
}

export function look(stripe: Lookable, [resource, id = '', action]: readonly string[], query: URLSearchParams): Reply {
  const { books, clock } = stripe;
  const found = (body: object | undefined): Reply =>
    body ? { status: 200, body } : refusal(404, `No such object: '${id}'`, { code: 'resource_missing' });
  if (resource === 'account') {
    const settings = { dashboard: { display_name: 'Test shop' } };
    const accountId = `acct_${createHash('sha256').update(stripe.secret).digest('hex').slice(0, 16)}`;
    return found({ id: accountId, object: 'account', charges_enabled: true, email: null, settings });
  }
  if (resource === 'balance') {
    return found({ object: 'balance', livemode: stripe.secret.includes('_live_'), available: [], pending: [] });
  }
  if (id === 'search') {
    const wanted = /^metadata\['(\w+)'\]:'(.*)'$/.exec(query.get('query') ?? '');
    if (!wanted) return refusal(400, 'The query cannot be read.');
    const isFound = ({ metadata, createdMs }: { metadata: Readonly<Record<string, string>>; createdMs: number }) =>
      metadata[wanted[1] ?? ''] === wanted[2] && createdMs + stripe.searchLagMs <= clock.nowMs();
    if (resource === 'customers') return found(list([...books.customers.values()].filter(isFound).map(showCustomer)));
    return found(list([...books.intents.values()].filter(isFound).map((intent) => showIntent(books, intent, false))));
  }
  if (resource === 'customers' && action === 'payment_methods') {
    if (!isCustomer(books, id)) return found(undefined);
    return found(list(methodsOf(books, id).map(showMethod)));
  }
  if (resource === 'payment_intents') {
    const intent = books.intents.get(id);
    return found(
      intent &&
        showIntent(
          books,
          intent,
          [...query.keys()].some((name) => name.startsWith('expand')),
        ),
    );
  }
  const setup = resource === 'setup_intents' ? books.setups.get(id) : undefined;
  if (setup) return found(showSetup(books, setup));
  if (resource === 'charges') {
    return found(page(books.charges.values(), query, (row) => showCharge(books, row, true)));
  }
  if (resource === 'refunds') {
    const intentId = query.get('payment_intent');
    const rows = [...books.refunds.values()].filter((row) => intentId === null || row.intentId === intentId);
    return found(page(rows, query, (row) => showRefund(books, row)));
  }
  if (resource === 'balance_transactions') {
    const paid = [...books.charges.values()].filter(({ declineCode }) => declineCode === null);
    const rows = paid.map((charge) => ({ id: balanceId(charge), createdMs: charge.createdMs, charge }));
    const show = ({ charge }: (typeof rows)[number]): object => ({
      ...showBalanceTransaction(books, charge),
      source: showCharge(books, charge),
    });
    return found(page(rows, query, show));
  }
  const dispute = resource === 'disputes' ? books.disputes.get(id) : undefined;
  return found(dispute && showDispute(books, dispute));
}
