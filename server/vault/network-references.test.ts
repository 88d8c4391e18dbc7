import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, it } from 'node:test';
import { inspect } from 'node:util';
import { adyenAccount, chaosKinds } from '../../tests/chaos/kinds.ts';
import { connectTo } from '../../tests/support/connect.ts';
import { waitUntil } from '../../tests/support/embedded-postgres.ts';
import { openShop, order, type Shop } from '../../tests/support/orders.ts';
import { startTestService, type TestService } from '../../tests/support/service.ts';
import { type Simulator, startSimulator } from '../../tests/support/simulator.ts';
import { findAttention } from '../features/figures/attention-queries.ts';
import type { CredentialUse } from './processors/processor.ts';

/** The reference of the card network to the first payment, which a renewal needs, at every connection of a company. */

const kinds = ['adyen', 'stripe', 'nmi'] as const;
type Kind = (typeof kinds)[number];

let service: TestService;
let simulators: Readonly<Record<Kind, Simulator>>;
let connections: Readonly<Record<Kind, string>>;
let companyId: string;
let key: string;
let shop: Shop;

before(async () => {
  const options = {
    adyen: { 'hmac-key': adyenAccount.hmacKey.reveal(), 'merchant-account': adyenAccount.merchantAccount },
    stripe: {},
    nmi: {},
  };
  const started = await Promise.all(kinds.map((kind) => startSimulator(kind, chaosKinds[kind].secret, options[kind])));
  simulators = Object.fromEntries(kinds.map((kind, index) => [kind, started[index]])) as typeof simulators;
  const extraOrigins = started.map(({ url }) => url);
  service = await startTestService({ settings: { SVC_PROCESSOR_ORIGINS: extraOrigins.join(',') } });
  const { live } = await service.createMerchant();
  companyId = live.id;
  const timing = { timeoutMs: 5_000, requestLifeMs: 60_000, extraOrigins };
  const ids: Partial<Record<Kind, string>> = {};
  for (const kind of kinds) {
    const configuration = chaosKinds[kind].configuration(simulators[kind].url);
    ids[kind] = await connectTo(service, live.id, { kind, configuration, ...timing });
  }
  connections = ids as typeof connections;
  key = await service.createKey({ ...live, processor: 'connected' });
  shop = await openShop(service, undefined, { key });
});
after(async () => {
  await Promise.all([...Object.values(simulators).map((one) => one.stop()), service.stop()]);
});

const first = { initiator: 'customer', sequence: 'first' } as const;
const renewal = { initiator: 'merchant', sequence: 'subsequent' } as const;

/** Charges a card at a connection, and returns the network's id of this charge. */
async function charge(
  cardId: string,
  kind: Kind,
  credential: Omit<CredentialUse, 'networkTransactionId'>,
): Promise<string | undefined> {
  const outcome = await service.vault.charge({
    ...{ companyId, mode: 'live', connectionId: connections[kind], reference: randomUUID(), amount: 4900 },
    ...{ currency: 'usd', validUntilMs: Date.now() + 60_000, card: { cardId, expMonth: 12, expYear: 2031 } },
    ...{ credential, keepsCard: true },
  });
  assert.ok(outcome.outcome === 'approved', inspect(outcome));
  return outcome.networkTransactionId;
}

/** A card that no processor has a reference of: at its capture Adyen reports none. */
async function newCard(): Promise<string> {
  await simulators.adyen.control({ network_references: false });
  const { customerId } = await openShop(service, undefined, { key });
  const [row] = await service.db.query<{ card_id: string }>(
    'SELECT card_id FROM payment_methods WHERE customer_id = $1',
    [customerId],
  );
  return row?.card_id ?? assert.fail();
}

it('a renewal names the first payment, also one that another processor charged', async () => {
  const card = await newCard();
  await simulators.adyen.control({ network_references: true });
  const reference = await charge(card, 'stripe', first);
  assert.ok(reference);
  assert.equal(await charge(card, 'adyen', renewal), reference, 'Adyen repeats the reference that it gets');
  assert.equal(await charge(card, 'adyen', renewal), reference);
});

it('an id that only its own processor knows is sent to no other', async () => {
  const card = await newCard();
  await simulators.adyen.control({ network_references: true });
  const own = await charge(card, 'nmi', first);
  assert.match(String(own), /^\d+$/);
  assert.match(String(await charge(card, 'adyen', renewal)), /^MCC/);
});

it('a connection whose account hides the references says so, until it reports them', async () => {
  const unlinked = async (): Promise<string[]> => {
    const rows = await service.db.query<{ id: string }>(
      'SELECT id FROM processor_connections WHERE company_id = $1 AND unlinked_at IS NOT NULL',
      [companyId],
    );
    return rows.map(({ id }) => id);
  };
  const attention = () =>
    findAttention(service.db, companyId, { kinds: ['processors_unlinked'], now: new Date(), broken: [] });
  await simulators.adyen.control({ network_references: false });
  const pay = async (): Promise<void> => {
    const reply = await order(service, shop, {}, { key });
    assert.equal(reply.body.status, 'succeeded', reply.text);
  };
  await pay();
  await waitUntil(async () => (await unlinked()).length === 1);
  assert.deepEqual(await unlinked(), [connections.adyen]);
  const [found] = await attention();
  assert.deepEqual([found?.kind, found?.object_id], ['processors_unlinked', connections.adyen]);
  await simulators.adyen.control({ network_references: true });
  // The connections are read again after two seconds.
  await waitUntil(async () => {
    await pay();
    return (await unlinked()).length === 0;
  });
});
