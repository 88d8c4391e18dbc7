import Type from 'typebox';
import { modes } from '../company.ts';
import { choice } from '../platform/choice.ts';
import type { DatabasePool } from '../platform/database.ts';
import { checkOf } from '../platform/schema-check.ts';
import type { Access, OpenedCard } from './access.ts';
import type { CardAttempt } from './decline-limits.ts';
import type { Mount } from './dispute-calls.ts';
import type { Connected } from './processors/connections.ts';
import type { CardAtProcessor, Presence } from './processors/processor.ts';
import type { NoticedSetUp, SetUpOutcome } from './processors/setup.ts';
import { keepNetworkTransactionId } from './queries.ts';
import type { SavedCardKey } from './saved-card-queries.ts';
import { savedAt } from './saved-cards.ts';
import type { ChargedCard, VaultOperation } from './vault.ts';

/** Saves cards at a processor without a payment, for which the bank may ask the customer. */

interface OfCard extends VaultOperation {
  readonly card: ChargedCard;
}

export interface VaultSetUp extends OfCard {
  readonly presence: Presence;
  readonly customerIp?: string;
  readonly startsSeries?: boolean;
}

interface VaultResumeSetUp extends OfCard {
  /** Of `needs_customer`. */
  readonly handle: string;
  readonly returned?: Readonly<Record<string, string>>;
}

interface VaultNoticedSetUp extends OfCard {
  readonly found: NoticedSetUp;
}

export interface SetUpVault {
  /** Asks the processor to save the card. Never throws. Sent again with the same reference, it is the same. */
  setUp(request: VaultSetUp): Promise<SetUpOutcome>;
  /** The customer came back from the bank, or may have. */
  resumeSetUp(request: VaultResumeSetUp): Promise<SetUpOutcome>;
  /** Keeps what a notice of the processor says about it. */
  noticedSetUp(request: VaultNoticedSetUp): Promise<SetUpOutcome>;
  /** Gives it up. What was confirmed before is saved. */
  endSetUp(request: VaultResumeSetUp): Promise<SetUpOutcome>;
}

const notSent = (reason: string): SetUpOutcome => ({ outcome: 'not_sent', reason });
const attempt: CardAttempt = { amount: 0, currency: null, byCustomer: true };

interface Found {
  readonly connected: Connected;
  readonly card: OpenedCard;
  readonly savedCard?: CardAtProcessor;
}

export function cardSetUps(
  db: DatabasePool,
  { processors, openCard, counter, codes }: Access,
  findSavedCard: (key: SavedCardKey) => Promise<CardAtProcessor>,
): SetUpVault {
  async function find(request: OfCard): Promise<Found | SetUpOutcome> {
    const connected = await processors(request.companyId, request.mode, request.connectionId);
    if (!connected?.processor.setUp) return notSent('the processor saves no cards that the customer confirms');
    const card = await openCard(request, request.card);
    if (!card) return notSent('the vault no longer has the card');
    const savedCard = await savedAt(connected, true, { ...request, ...request.card }, findSavedCard);
    return { connected, card, ...(savedCard && { savedCard }) };
  }

  /** Keeps the id of the card network, which later charges without the customer name, and counts a decline. */
  async function kept({ connected, card }: Found, request: OfCard, outcome: SetUpOutcome): Promise<void> {
    const { processor, connectionId } = connected;
    if (outcome.outcome === 'declined') await counter.note({ ...request, connectionId, card, attempt }, outcome);
    const id = outcome.outcome === 'set_up' ? outcome.networkTransactionId : null;
    if (id === null || connectionId === null) return;
    const isOfNetwork = processor.reportsOwnIds !== true;
    await keepNetworkTransactionId(db, request.companyId, card.cardId, connectionId, id, isOfNetwork);
  }

  async function safely(
    request: OfCard,
    call: (found: Found) => Promise<SetUpOutcome | undefined>,
  ): Promise<SetUpOutcome> {
    try {
      const found = await find(request);
      if ('outcome' in found) return found;
      const outcome = (await call(found)) ?? notSent('the processor saves no cards that the customer confirms');
      await kept(found, request, outcome);
      return outcome;
    } catch {
      return { outcome: 'unknown', reason: 'the card could not be saved' };
    }
  }

  const about = ({ companyId, reference }: OfCard, { savedCard }: Found) => ({
    ...{ companyId, reference },
    ...(savedCard && { savedCard }),
  });
  return {
    setUp: (request) =>
      safely(request, async (found) => {
        const { connected, card } = found;
        const stop = counter.stop({ ...request, connectionId: connected.connectionId, card, attempt });
        if (stop) return notSent(stop.reason);
        const { networkTransactionIds: _, cvvResult: __, declines: ___, ...opened } = card;
        const { mode: ____, connectionId: _____, card: ______, ...given } = request;
        const wanted = { ...given, ...about(request, found), card: opened };
        const key = { companyId: request.companyId, cardId: card.cardId };
        return codes.use(
          key,
          async (cvc) => connected.processor.setUp?.({ ...wanted, ...(cvc && { cvc }) }),
          (outcome) => outcome === undefined || outcome.outcome === 'not_sent',
        );
      }),
    resumeSetUp: (request) =>
      safely(request, async (found) => {
        const { handle, returned } = request;
        const known = { ...about(request, found), handle, ...(returned && { returned }) };
        return found.connected.processor.resumeSetUp?.(known);
      }),
    noticedSetUp: (request) => safely(request, async () => request.found),
    endSetUp: (request) =>
      safely(request, async (found) =>
        found.connected.processor.endSetUp?.({ ...about(request, found), handle: request.handle }),
      ),
  };
}

const id = Type.String({ format: 'uuid' });
const operation = {
  companyId: id,
  mode: choice(modes),
  reference: id,
  validUntilMs: Type.Integer(),
  connectionId: Type.Optional(id),
  card: Type.Object({ cardId: id, expMonth: Type.Integer(), expYear: Type.Integer() }),
};
const setUpCheck = checkOf(
  Type.Object({
    ...operation,
    presence: Type.Object({
      returnUrl: Type.String(),
      userAgent: Type.String(),
      acceptHeader: Type.String(),
      browser: Type.Optional(
        Type.Object({
          language: Type.String(),
          colorDepth: Type.Integer(),
          screenHeight: Type.Integer(),
          screenWidth: Type.Integer(),
          timeZoneOffsetMinutes: Type.Integer(),
        }),
      ),
      sandboxBankUrl: Type.Optional(Type.String()),
    }),
    customerIp: Type.Optional(Type.String()),
    startsSeries: Type.Optional(Type.Boolean()),
  }),
);
const resumeCheck = checkOf(
  Type.Object({
    ...operation,
    handle: Type.String({ maxLength: 4096 }),
    returned: Type.Optional(Type.Record(Type.String(), Type.String())),
  }),
);

const noticedCheck = checkOf(
  Type.Object({ ...operation, found: Type.Object({ outcome: choice(['set_up', 'declined']) }) }),
);

export function mountSetUps(mount: Mount, vault: SetUpVault): void {
  mount('/set-up', setUpCheck, (body) => vault.setUp(body as VaultSetUp));
  mount('/set-up/resume', resumeCheck, (body) => vault.resumeSetUp(body));
  mount('/set-up/noticed', noticedCheck, (body) => vault.noticedSetUp(body as VaultNoticedSetUp));
  mount('/set-up/end', resumeCheck, (body) => vault.endSetUp(body));
}

/** The same calls of a vault in another process. What it does not answer may have happened. */
export function remoteSetUps(ask: (path: string, body: object) => Promise<unknown>): SetUpVault {
  const asked = (path: string, body: object): Promise<SetUpOutcome> =>
    (ask(path, body) as Promise<SetUpOutcome>).catch(() => ({
      outcome: 'unknown',
      reason: 'the vault did not respond',
    }));
  return {
    setUp: (request) => asked('/set-up', request),
    resumeSetUp: (request) => asked('/set-up/resume', request),
    noticedSetUp: (request) => asked('/set-up/noticed', request),
    endSetUp: (request) => asked('/set-up/end', request),
  };
}
