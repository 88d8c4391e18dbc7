import { ApiError } from '../../errors.ts';
import type { RequestContext } from '../../request-context.ts';
import { orderOfKey } from '../orders/service.ts';
import type { Payment } from './page-schemas.ts';
import type { ShownAction } from './page-session.ts';
import { choiceOf, keyOf, type RunDependencies, runPayment } from './pay.ts';
import { findOpenPayment, type PaymentRow } from './payment-queries.ts';
import type { SessionRow } from './queries.ts';

/** Payments whose customer is at the bank. The page leads there, and comes back here. */

/** Null if the payment does not wait for the customer. */
export async function nextActionOf(
  { orders }: Pick<RunDependencies, 'orders'>,
  { company, db }: RequestContext,
  payment: PaymentRow,
  asked: Partial<Payment>,
): Promise<ShownAction | null> {
  const orderId = await orderOfKey(db, company.id, keyOf(payment));
  const action = orderId && (await orders.nextAction(company.id, orderId));
  if (!action) return null;
  const isOwn = 'attempt' in asked && payment.input.chosen === choiceOf(asked as Payment);
  return { url: action.url, expires_at: action.expiresAt.toISOString(), is_own: isOwn };
}

/** The browser came back. What it brought is only a hint: the processor is asked. */
export async function resumeSession(
  dependencies: RunDependencies,
  context: RequestContext,
  session: SessionRow,
  returned: Readonly<Record<string, string>>,
): Promise<void> {
  await continueWith(dependencies, context, session, (orderId) =>
    dependencies.orders.resumeAtBank(context.company.id, orderId, returned),
  );
}

/**
 * The customer wants to pay otherwise. The payment ends at the processor first, and then here, so at most one can be paid.
 * `attempt` is the payment that the page has shown.
 */
export async function abandonPayment(
  dependencies: RunDependencies,
  context: RequestContext,
  session: SessionRow,
  attempt: number,
): Promise<void> {
  if (attempt !== session.attempts) return;
  await continueWith(dependencies, context, session, (orderId) =>
    dependencies.orders.endAtBank(context.company.id, orderId),
  );
}

/** Acts on the order of the payment in progress, and records what is known of it. The page shows the rest as in progress. */
async function continueWith(
  dependencies: RunDependencies,
  context: RequestContext,
  session: SessionRow,
  act: (orderId: string) => Promise<void>,
): Promise<void> {
  const { company, db } = context;
  const payment = await findOpenPayment(db, company.id, session.id);
  const orderId = payment && (await orderOfKey(db, company.id, keyOf(payment)));
  if (!payment || !orderId) return;
  try {
    await act(orderId);
    await runPayment(dependencies, context, payment);
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
  }
}
