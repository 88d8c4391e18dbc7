import { connects } from '../../company.ts';
import { ApiError } from '../../errors.ts';
import { dayMs, minuteMs } from '../../platform/durations.ts';
import type { Queryable } from '../../platform/database.ts';
import { failpoint } from '../../platform/failpoints.ts';
import { isUuid } from '../../platform/ids.ts';
import type { ServiceKey } from '../../platform/service-keys.ts';
import type { RequestContext } from '../../request-context.ts';
import type { CustomerAction } from '../../vault/processors/authentication.ts';
import type { NoticedSetUp, SetUpOutcome } from '../../vault/processors/setup.ts';
import {
  attachPending,
  type CardDependencies,
  CardNotVerified,
  dropPending,
  listPending,
  redeemCard,
  wasUsedFor,
} from '../payment-methods/service.ts';
import { moveFailedTo, subscriptionReferences } from '../subscriptions/service.ts';
import {
  claimSetups,
  deleteSetup,
  findSetupOf,
  insertSetup,
  keepNoticed,
  keepStep,
  type NewSetup,
  type SetupRow,
} from './queries.ts';

/**
 * Saves a card that a customer has typed on a page. The processor asks the bank, which may want to ask the customer: then the
 * page leads there. No money moves. Until the bank has decided, the card is neither listed nor used; if it refuses, the card is
 * removed. A card whose bank was not asked is saved without a mandate.
 */

export interface SetupDependencies {
  readonly cards: CardDependencies;
  /** Completes the checkout session for which the card was saved, in the same transaction. */
  readonly completed: (context: RequestContext, sessionId: string, paymentMethodId: string) => Promise<void>;
  /** Encrypts what is kept while the customer is at the bank. */
  readonly linkKey: ServiceKey;
}

/** What a worker needs to continue. */
export type ContinueDependencies = Pick<SetupDependencies, 'linkKey' | 'completed'> & {
  readonly cards: Pick<CardDependencies, 'vault' | 'clock'>;
};

/** `not_asked`: no processor asks the bank here, or the page does not say what its browser is. */
export type Saved = 'not_asked' | 'saved' | 'at_bank';

/** How long a customer has. */
const customerMs = 30 * minuteMs;
/** Longer than a processor takes to answer. */
const checkAfterMs = minuteMs;
const againMs = minuteMs;
/** After the time of the customer. Then the card is removed, even if the processor does not say that it has ended. */
const lostAfterMs = dayMs;

interface Step {
  readonly action: CustomerAction;
  readonly handle: string;
}

const about = ({ company_id, payment_method_id }: Pick<SetupRow, 'company_id' | 'payment_method_id'>): string =>
  `card setup ${company_id} ${payment_method_id}`;

const stepOf = ({ linkKey }: Pick<SetupDependencies, 'linkKey'>, row: SetupRow): Step | undefined =>
  row.step ? (JSON.parse(linkKey.open(row.step, about(row)).toString()) as Step) : undefined;

/** Where the customer of a card that is being saved is to be led. */
export interface CardAtBank {
  readonly bank_url: string;
}

export async function cardAtBank(
  dependencies: Pick<SetupDependencies, 'linkKey'>,
  { db, company }: RequestContext,
  customerId: string,
  sessionId: string | null = null,
): Promise<CardAtBank | null> {
  const row = await findSetupOf(db, company.id, customerId);
  const step = row?.session_id === sessionId ? stepOf(dependencies, row) : undefined;
  return step ? { bank_url: step.action.url } : null;
}

export async function saveCard(
  dependencies: SetupDependencies,
  context: RequestContext,
  customerId: string,
  cardToken: string,
  sessionId: string | null = null,
): Promise<Saved> {
  const where = await connectionOf(dependencies, context);
  const { presence, customerIp } = context;
  if (!where || !presence) return 'not_asked';
  const earlier = await findSetupOf(context.db, context.company.id, customerId);
  if (earlier && (await wasUsedFor(context, dependencies.cards, cardToken, earlier.card_id))) {
    if (earlier.step === null) throw anotherCard();
    return 'at_bank';
  }
  if (earlier) await endEarlier(dependencies, context, earlier);
  const row = await begin(dependencies, context, { customerId, cardToken, sessionId }, where);
  failpoint('card.after_wish');
  const outcome = await dependencies.cards.vault.setUp({
    ...operationOf(dependencies, context, row),
    presence,
    ...(customerIp && { customerIp }),
    startsSeries: sessionId === null,
  });
  failpoint('card.after_processor');
  if (outcome.outcome === 'unknown') {
    await refuse(context, row);
    throw new ApiError('gateway_error', 'The processor did not answer, so the card was not saved. Try again.');
  }
  if (outcome.outcome === 'not_sent') {
    await save(dependencies, context, row, false);
    return 'saved';
  }
  const state = await conclude(dependencies, context, row, outcome);
  failpoint('card.after_step');
  return state;
}

/** Null for the sandbox. Undefined if no bank is asked. */
async function connectionOf(
  { cards }: SetupDependencies,
  { company }: RequestContext,
): Promise<{ readonly connectionId: string | null } | undefined> {
  if (!connects(company.mode)) return company.authenticates ? { connectionId: null } : undefined;
  const connectionId = company.processor === null ? undefined : await cards.verifierOf(company.id, false);
  return connectionId === undefined ? undefined : { connectionId };
}

interface Typed {
  readonly customerId: string;
  readonly cardToken: string;
  readonly sessionId: string | null;
}

async function begin(
  { cards }: SetupDependencies,
  context: RequestContext,
  { customerId, cardToken, sessionId }: Typed,
  { connectionId }: { readonly connectionId: string | null },
): Promise<SetupRow> {
  const { company, nowMs } = context;
  return context.db.transaction(async (transaction) => {
    const inside = { ...context, db: transaction };
    const card = await redeemCard(inside, cards, { card_token: cardToken });
    const payment_method_id = await attachPending(inside, customerId, card);
    const setup: NewSetup = {
      company_id: company.id,
      payment_method_id,
      customer_id: customerId,
      session_id: sessionId,
      connection_id: connectionId,
      customer_until: new Date(nowMs + customerMs),
    };
    if (!(await insertSetup(transaction, setup, checkAfterMs))) throw anotherCard();
    const { card_id, exp_month, exp_year } = card;
    return { ...setup, step: null, noticed: null, card_id, exp_month, exp_year };
  });
}

const anotherCard = (): ApiError =>
  new ApiError('resource_in_use', 'Another card of this customer is being saved. Retry shortly.');

const validMs = minuteMs;

const operationOf = (
  { cards: { clock } }: ContinueDependencies,
  { company }: RequestContext,
  { payment_method_id, connection_id, card_id, exp_month, exp_year }: SetupRow,
) => ({
  companyId: company.id,
  mode: company.mode,
  reference: payment_method_id,
  validUntilMs: clock.nowMs() + validMs,
  ...(connection_id !== null && { connectionId: connection_id }),
  card: { cardId: card_id, expMonth: exp_month, expYear: exp_year },
});

/** What the answer changes. Throws if the bank has refused the card. */
async function conclude(
  dependencies: Pick<SetupDependencies, 'linkKey' | 'completed'>,
  context: RequestContext,
  row: SetupRow,
  outcome: SetUpOutcome,
): Promise<Saved> {
  if (outcome.outcome === 'set_up') {
    await save(dependencies, context, row, true);
    return 'saved';
  }
  if (outcome.outcome === 'needs_customer') {
    const { action, handle } = outcome;
    const { linkKey } = dependencies;
    if (action)
      await keepStep(context.db, row, linkKey.seal(Buffer.from(JSON.stringify({ action, handle })), about(row)));
    return 'at_bank';
  }
  if (outcome.outcome === 'unknown' || outcome.outcome === 'not_sent') return 'at_bank';
  await refuse(context, row);
  throw new CardNotVerified();
}

/**
 * From the customer page, the card is the default from now on, and pays for the subscriptions. For a session it is only there.
 * Nothing happens if another process has ended it.
 */
async function save(
  { completed }: Pick<SetupDependencies, 'completed'>,
  context: RequestContext,
  { session_id, customer_id, payment_method_id, ...row }: SetupRow,
  hasMandate: boolean,
): Promise<void> {
  await context.db.transaction(async (transaction) => {
    if (!(await deleteSetup(transaction, { ...row, payment_method_id }))) return;
    const inside = { ...context, db: transaction };
    const use = { hasMandate, asDefault: session_id === null };
    const { id, card } = await listPending(inside, subscriptionReferences, customer_id, payment_method_id, use);
    if (session_id !== null) return completed(inside, session_id, id);
    await moveFailedTo(inside, transaction, customer_id, { id, brand: card.brand, last4: card.last4 });
  });
}

async function refuse(context: RequestContext, row: SetupRow): Promise<void> {
  await context.db.transaction(async (transaction) => {
    if (!(await deleteSetup(transaction, row))) return;
    await dropPending({ ...context, db: transaction }, row.customer_id, row.payment_method_id);
  });
}

/** The browser came back. What it brought is only a hint: the processor is asked. Throws if the bank has refused the card. */
export async function resumeCard(
  dependencies: ContinueDependencies,
  context: RequestContext,
  customerId: string,
  returned: Readonly<Record<string, string>>,
): Promise<Saved> {
  const row = await findSetupOf(context.db, context.company.id, customerId);
  return row ? ask(dependencies, context, row, { returned }) : 'not_asked';
}

/** A processor says what the bank has decided about a card. The worker then saves it, or removes it. */
export async function hearOfCard(
  db: Queryable,
  { companyId, connectionId }: { readonly companyId: string; readonly connectionId: string },
  { reference, found }: { readonly reference: string; readonly found: NoticedSetUp },
): Promise<string> {
  const setup = { company_id: companyId, payment_method_id: reference };
  const isKept = isUuid(reference) && (await keepNoticed(db, setup, connectionId, found));
  return isKept ? 'kept for the card that is being saved' : 'no card is being saved under this reference';
}

interface Hint {
  readonly returned?: Readonly<Record<string, string>>;
  readonly ends?: true;
}

const isDecided = (outcome: SetUpOutcome | undefined): boolean =>
  outcome?.outcome === 'set_up' || outcome?.outcome === 'declined';

/**
 * The answer to the return of the customer says more than a notice. Undefined if nothing is known: the process that sent it has
 * stopped.
 */
async function learn(
  dependencies: ContinueDependencies,
  context: RequestContext,
  row: SetupRow,
  { returned, ends }: Hint,
): Promise<SetUpOutcome | undefined> {
  const { vault } = dependencies.cards;
  const operation = operationOf(dependencies, context, row);
  const step = stepOf(dependencies, row);
  const known = step && { ...operation, handle: step.handle };
  const answer = known && !ends ? await vault.resumeSetUp({ ...known, ...(returned && { returned }) }) : undefined;
  if (isDecided(answer)) return answer;
  if (row.noticed) return vault.noticedSetUp({ ...operation, found: row.noticed });
  return known && ends ? vault.endSetUp(known) : answer;
}

async function ask(
  dependencies: ContinueDependencies,
  context: RequestContext,
  row: SetupRow,
  hint: Hint = {},
): Promise<Saved> {
  const overMs = context.nowMs - row.customer_until.getTime();
  failpoint('card.before_resume');
  const outcome = await learn(dependencies, context, row, overMs >= 0 ? { ends: true } : hint);
  // The customer types the card again.
  if (!outcome) {
    await refuse(context, row);
    return 'not_asked';
  }
  failpoint('card.after_resume');
  const state = await conclude(dependencies, context, row, outcome);
  failpoint('card.after_record');
  // The connection may be gone, so that the processor will never answer.
  if (state === 'at_bank' && overMs > lostAfterMs) await refuse(context, row);
  return state;
}

/** The customer has typed another card: the earlier one ends at the processor first. What was confirmed is saved. */
async function endEarlier(dependencies: SetupDependencies, context: RequestContext, row: SetupRow): Promise<void> {
  await ask(dependencies, context, row, { ends: true }).catch((error: unknown) => {
    if (!(error instanceof ApiError)) throw error;
  });
}

/** Job: one batch. Returns the cards that are due. */
export const dueSetups = (context: Pick<RequestContext, 'db'>, count: number): Promise<SetupRow[]> =>
  claimSetups(context.db, count, againMs);

/** The customer may have confirmed it and closed the browser. */
export async function continueSetup(
  dependencies: ContinueDependencies,
  context: RequestContext,
  row: SetupRow,
): Promise<void> {
  try {
    await ask(dependencies, context, row);
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    // The customer was deleted meanwhile, or the bank has refused the card.
    if (!(error instanceof CardNotVerified)) await refuse(context, row);
  }
}
