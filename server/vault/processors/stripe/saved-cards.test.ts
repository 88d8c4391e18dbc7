import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, beforeEach, describe, it } from 'node:test';
import { inspect } from 'node:util';
import { chargeOf } from '../../../../tests/support/processor-requests.ts';
import { type Simulator, startSimulator } from '../../../../tests/support/simulator.ts';
import { CardNumber } from '../../card-number.ts';
import type { ChargeRequest, CredentialUse, Outcome, Processor, ProcessorCard, CardAtProcessor } from '../processor.ts';
import { stripeKind } from './kind.ts';

/** Cards that are saved at Stripe, at a simulator that tells saved cards from others as Stripe does. */

const secretKey = 'sk_test_51NotARealKey00000000';
let stripe: Simulator;
let processor: Processor;

before(async () => {
  stripe = await startSimulator('stripe', secretKey, { 'request-life-ms': 400 });
  const options = { timeoutMs: 5_000, extraOrigins: [stripe.url] };
  processor = stripeKind.open({ secret_key: secretKey, api_url: stripe.url }, options);
});
after(() => stripe.stop());
beforeEach(() => stripe.control({ next: [], search_lag_ms: 0, wants_set_up: false }));

/** A card with what the vault stores of it. */
interface Wallet {
  readonly card: ProcessorCard;
  token: string | undefined;
  isOld: boolean;
  /** As a process that dies before it has stored something. */
  isLost: boolean;
  isDeleted: boolean;
  readonly savedCard: () => CardAtProcessor;
}

function newWallet(): Wallet {
  const card = { number: new CardNumber('4000056655665556'), cardId: randomUUID(), expMonth: 12, expYear: 2032 };
  const wallet: Wallet = {
    card,
    token: undefined,
    isOld: false,
    isLost: false,
    isDeleted: false,
    savedCard: () => ({
      name: `${card.cardId}:connection`,
      token: wallet.token,
      isOld: wallet.isOld,
      async keep(token) {
        if (wallet.isLost) throw new Error('the process died');
        if (!wallet.isDeleted) wallet.token = token;
        return !wallet.isDeleted;
      },
    }),
  };
  return wallet;
}

const uses = {
  first: { initiator: 'customer', sequence: 'first', networkTransactionId: null },
  again: { initiator: 'customer', sequence: 'unscheduled', networkTransactionId: null },
  renewal: { initiator: 'merchant', sequence: 'subsequent', networkTransactionId: null },
  retry: { initiator: 'merchant', sequence: 'unscheduled', networkTransactionId: null },
} as const satisfies Record<string, CredentialUse>;

const requestOf = (wallet: Wallet, use: keyof typeof uses): ChargeRequest =>
  chargeOf(wallet.card, { credential: uses[use], savedCard: wallet.savedCard() });

async function send(request: ChargeRequest): Promise<Outcome> {
  const preparation = await processor.prepare?.(request);
  if (preparation?.outcome !== 'prepared') return preparation as Outcome;
  return processor.charge({ ...request, handle: preparation.handle });
}

async function pay(wallet: Wallet, use: keyof typeof uses): Promise<void> {
  const outcome = await send(requestOf(wallet, use));
  assert.equal(outcome.outcome, 'approved', inspect(outcome));
}

interface Customer {
  readonly id: string;
  readonly metadata: Readonly<Record<string, string>>;
  readonly methods: readonly string[];
}

async function customersOf({ card }: Wallet): Promise<Customer[]> {
  const { customers } = await stripe.call('GET', '/customers');
  return (customers as Customer[]).filter(({ metadata }) => metadata.svc_card?.startsWith(card.cardId));
}

/** Requires that the card is one payment method of one customer, and known. Returns the customer. */
async function savedOnce(wallet: Wallet): Promise<string> {
  const customers = await customersOf(wallet);
  assert.equal(customers.length, 1, inspect(customers));
  assert.equal(customers[0]?.methods.length, 1, inspect(customers));
  assert.equal(wallet.token, `${customers[0]?.id} ${customers[0]?.methods[0]}`);
  return customers[0]?.id ?? assert.fail();
}

async function removedAtStripe(wallet: Wallet): Promise<boolean | undefined> {
  return processor.removeSaved?.(String(wallet.token));
}

describe('a card that the customer agreed to keep', () => {
  it('is saved by its first charge, and every later charge uses what was saved', async () => {
    const wallet = newWallet();
    await stripe.control({ wants_set_up: true });
    await pay(wallet, 'first');
    await savedOnce(wallet);
    for (const use of ['renewal', 'retry', 'again'] as const) await pay(wallet, use);
    await savedOnce(wallet);
  });

  it('is saved by a renewal, if another processor charged it before', async () => {
    const wallet = newWallet();
    await pay(wallet, 'renewal');
    await savedOnce(wallet);
    await pay(wallet, 'renewal');
    await savedOnce(wallet);
  });

  it('is not saved by a charge that the bank declines, and is by the next one', async () => {
    const wallet = newWallet();
    await stripe.control({ next: ['decline:insufficient_funds'] });
    assert.equal((await send(requestOf(wallet, 'first'))).outcome, 'declined');
    assert.deepEqual((await customersOf(wallet))[0]?.methods, []);
    await pay(wallet, 'first');
    await savedOnce(wallet);
  });

  it('has one customer, if the process dies before it has stored the customer', async () => {
    const wallet = newWallet();
    wallet.isLost = true;
    await pay(wallet, 'first');
    assert.equal(wallet.token, undefined);
    wallet.isLost = false;
    await pay(wallet, 'first');
    await savedOnce(wallet);
  });

  it('has one customer, if the answer about the customer is lost', async () => {
    const wallet = newWallet();
    await stripe.control({ next: ['save_reset_after'] });
    await pay(wallet, 'first');
    await pay(wallet, 'first');
    await savedOnce(wallet);
  });

  it('has one customer, if Stripe has forgotten the key since', async () => {
    const wallet = newWallet();
    wallet.isLost = true;
    await pay(wallet, 'first');
    await stripe.control({ forget_keys: true });
    Object.assign(wallet, { isLost: false, isOld: true });
    await pay(wallet, 'first');
    await savedOnce(wallet);
  });

  it('has one payment method, if the process dies after the charge that saves it', async () => {
    const wallet = newWallet();
    const request = requestOf(wallet, 'first');
    const preparation = await processor.prepare?.(request);
    assert.ok(preparation?.outcome === 'prepared');
    wallet.isLost = true;
    assert.equal((await processor.charge({ ...request, handle: preparation.handle })).outcome, 'approved');
    wallet.isLost = false;
    await pay(wallet, 'renewal');
    await savedOnce(wallet);
  });

  it('is charged by another process with the payment that was prepared', async () => {
    const wallet = newWallet();
    const options = { timeoutMs: 5_000, extraOrigins: [stripe.url] };
    const other = stripeKind.open({ secret_key: secretKey, api_url: stripe.url }, options);
    for (const use of ['first', 'renewal'] as const) {
      const request = requestOf(wallet, use);
      const preparation = await processor.prepare?.(request);
      assert.ok(preparation?.outcome === 'prepared');
      const again = { ...request, savedCard: wallet.savedCard(), handle: preparation.handle };
      const outcome = await other.charge(again);
      assert.equal(outcome.outcome, 'approved', inspect(outcome));
    }
    await savedOnce(wallet);
  });

  it('is charged with the payment that was prepared before cards were saved', async () => {
    const wallet = newWallet();
    const request = requestOf(wallet, 'first');
    const { savedCard: _, ...before } = request;
    const [one, two] = [await processor.prepare?.(before), await processor.prepare?.(request)];
    assert.ok(one?.outcome === 'prepared');
    assert.deepEqual(two, one);
    const outcome = await processor.charge({ ...request, savedCard: wallet.savedCard(), handle: one.handle });
    assert.equal(outcome.outcome, 'approved', inspect(outcome));
    await pay(wallet, 'first');
    await savedOnce(wallet);
  });

  it('keeps working after its customer was deleted at Stripe, and is saved again', async () => {
    const wallet = newWallet();
    await pay(wallet, 'first');
    const deleted = await savedOnce(wallet);
    assert.equal(await removedAtStripe(wallet), true);
    await pay(wallet, 'renewal');
    assert.notEqual(await savedOnce(wallet), deleted);
  });

  it('keeps working if its customer is deleted between the preparation and the charge', async () => {
    const wallet = newWallet();
    await pay(wallet, 'first');
    const request = requestOf(wallet, 'again');
    const preparation = await processor.prepare?.(request);
    assert.ok(preparation?.outcome === 'prepared');
    await removedAtStripe(wallet);
    const outcome = await processor.charge({ ...request, handle: preparation.handle });
    assert.ok(outcome.outcome === 'declined' && outcome.isProcessorFault, inspect(outcome));
    await pay(wallet, 'first');
    await savedOnce(wallet);
  });

  for (const fault of ['save_forbidden', 'save_error'] as const) {
    it(`${fault}: is charged without being saved`, async () => {
      const wallet = newWallet();
      await stripe.control({ next: [fault] });
      await pay(wallet, 'first');
      assert.equal(wallet.token, undefined);
    });
  }

  it('leaves nothing at Stripe, if it is deleted while it is charged', async () => {
    const wallet = newWallet();
    wallet.isDeleted = true;
    await pay(wallet, 'first');
    assert.deepEqual(await customersOf(wallet), []);
  });

  it('is removed once Stripe has confirmed it, however often that is repeated', async () => {
    const wallet = newWallet();
    await pay(wallet, 'first');
    for (const fault of ['save_error', 'save_forbidden']) {
      await stripe.control({ next: [fault] });
      assert.equal(await removedAtStripe(wallet), false, fault);
    }
    await savedOnce(wallet);
    await stripe.control({ next: ['save_reset_after'] });
    assert.equal(await removedAtStripe(wallet), false, 'the answer is lost');
    assert.equal(await removedAtStripe(wallet), true);
    assert.deepEqual(await customersOf(wallet), []);
  });
});

describe('a card that is not kept', () => {
  it('is charged once, and leaves no customer at Stripe', async () => {
    const wallet = newWallet();
    const outcome = await send(chargeOf(wallet.card));
    assert.equal(outcome.outcome, 'approved', inspect(outcome));
    assert.deepEqual(await customersOf(wallet), []);
  });

  it('is declined by the bank without the customer', async () => {
    const outcome = await send(chargeOf(newWallet().card, { credential: uses.renewal }));
    assert.ok(outcome.outcome === 'declined');
    assert.equal(outcome.response.response_code, 'authentication_required');
  });
});
