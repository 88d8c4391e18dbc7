import { createHmac, randomUUID } from 'node:crypto';
import { rm } from 'node:fs/promises';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import type { Clock } from '../../server/platform/clock.ts';
import { Secret } from '../../server/platform/secret.ts';
import { signNotice } from '../../server/vault/processors/acquirer/notices.ts';
import type { Configuration, KindName } from '../../server/vault/processors/kind.ts';
import { openSimulator as openAcquirer } from '../../simulators/acquirer/simulator.ts';
import { openSimulator as openAdyen } from '../../simulators/adyen/simulator.ts';
import { openSimulator as openNmi } from '../../simulators/nmi/simulator.ts';
import { openSimulator as openStripe } from '../../simulators/stripe/simulator.ts';
import { adyenAccount, chaosKinds } from '../chaos/kinds.ts';
import type { JournaledOperation } from '../support/ledger.ts';

/** The simulated processors of a schedule, with its clock. What they report is delivered when the schedule says so. */

/** A notice as it arrives at the service. It is signed when it is sent. */
export interface Delivery {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
}

export interface SimulatedProcessor {
  readonly kind: KindName;
  readonly url: string;
  readonly configuration: Configuration;
  journal(): Promise<JournaledOperation[]>;
  /** Declines the next charges: the bank does, or the processor itself, if it can. */
  decline(count: number, who?: 'bank' | 'processor'): Promise<void>;
  /** From now on the banks want to ask customers. `alone`: Adyen asks the bank to pay before the customer is back. */
  askCustomers(alone: boolean): Promise<void>;
  /** From now on it refuses or accepts our credentials. */
  refuse(isRefused: boolean): Promise<void>;
  /** The notices that it has created so far, oldest first. */
  notices(): Promise<readonly (() => Delivery)[]>;
  close(): Promise<void>;
}

/** The service asks these for their clock; a second is as exact as a header is. */
const requestLifeMs = 60_000;
const { secret: acquirerSecret } = chaosKinds.acquirer;

type Open = (journalFile: string, clock: Clock) => Promise<Server>;

const servers: Readonly<Record<KindName, Open>> = {
  acquirer: (journalFile, clock) =>
    openAcquirer({ journalFile, clock, secret: new Secret(acquirerSecret), settleAfterMs: 0, requestLifeMs }),
  stripe: (journalFile, clock) =>
    openStripe({ journalFile, clock, secret: new Secret(chaosKinds.stripe.secret), lateMs: requestLifeMs }),
  nmi: (journalFile, clock) =>
    openNmi({
      journalFile,
      clock,
      securityKey: new Secret(chaosKinds.nmi.secret),
      settleAfterMs: 0,
      requestLifeMs,
    }),
  adyen: (journalFile, clock) =>
    openAdyen({ journalFile, clock, apiKey: new Secret(chaosKinds.adyen.secret), ...adyenAccount, requestLifeMs }),
};

/** The faults of a decline: by the bank, and by the processor, where it has one of its own. */
const declines: Readonly<Record<KindName, Readonly<Record<'bank' | 'processor', string>>>> = {
  acquirer: { bank: 'decline:51', processor: 'decline:03' },
  stripe: { bank: 'decline:insufficient_funds', processor: 'decline:insufficient_funds' },
  nmi: { bank: 'decline:202', processor: 'decline:202' },
  adyen: { bank: 'decline:12', processor: 'decline:12' },
};

type Ask = (path: string, body?: object) => Promise<Record<string, any>>;
type Sender = (ask: Ask, clock: Clock) => Promise<readonly (() => Delivery)[]>;

const json = { 'content-type': 'application/json' };

/** How each kind reports, from what it has recorded. NMI sends nothing: the service asks it. */
const senders: Readonly<Record<KindName, Sender>> = {
  async acquirer(ask, clock) {
    const operations = (await ask('/journal')).operations as (JournaledOperation & { taken_at_ms: number })[];
    const settled = operations.filter((one) => one.kind === 'charge' && one.settled && !one.voided);
    return settled.map(({ reference, taken_at_ms: at_ms }) => () => {
      const body = JSON.stringify({ id: `settled ${reference}`, type: 'charge.settled', at_ms, reference });
      return {
        headers: { ...json, 'x-signature': signNotice(new Secret(acquirerSecret), body, clock.nowMs()) },
        body: Buffer.from(body),
      };
    });
  },
  async stripe(ask, clock) {
    const { events } = await ask('/events');
    const secret = String(chaosKinds.stripe.configuration('').signing_secret);
    return (events as object[]).map((event) => () => {
      const body = JSON.stringify(event);
      const at = Math.floor(clock.nowMs() / 1_000);
      const signature = createHmac('sha256', secret).update(`${at}.${body}`).digest('hex');
      return { headers: { ...json, 'stripe-signature': `t=${at},v1=${signature}` }, body: Buffer.from(body) };
    });
  },
  nmi: async () => [],
  async adyen(ask) {
    const { notices } = await ask('/notices');
    const { webhook_username: name, webhook_password: password } = chaosKinds.adyen.configuration('');
    const authorization = `Basic ${Buffer.from(`${name}:${password}`).toString('base64')}`;
    return (notices as object[]).map((NotificationRequestItem) => () => ({
      headers: { ...json, authorization },
      body: Buffer.from(JSON.stringify({ live: 'false', notificationItems: [{ NotificationRequestItem }] })),
    }));
  },
};

export async function openProcessor(kind: KindName, folder: string, clock: Clock): Promise<SimulatedProcessor> {
  const journalFile = join(folder, randomUUID());
  const server = await servers[kind](journalFile, clock);
  // The header says the time of the schedule, because processors are asked for their clock.
  server.prependListener('request', (_request, response) =>
    response.setHeader('date', new Date(clock.nowMs()).toUTCString()),
  );
  const url = await listen(server);
  const { secret, configuration, revoked } = chaosKinds[kind];
  const ask: Ask = async (path, body) => {
    const response = await fetch(url + path, {
      ...(body && { method: 'POST', body: JSON.stringify(body) }),
      headers: { authorization: `Bearer ${secret}`, ...json },
    });
    if (!response.ok) throw new Error(`the simulated ${kind} answered ${response.status}`);
    return (await response.json()) as Record<string, any>;
  };
  return {
    kind,
    url,
    configuration: configuration(url),
    async journal() {
      const { operations, uncharged = [] } = await ask('/journal');
      return [...operations, ...uncharged];
    },
    async decline(count, who = 'bank') {
      await ask('/control', { next: Array.from({ length: count }, () => declines[kind][who]) });
    },
    async askCustomers(alone) {
      const adyenOnly = { completes_alone: alone, additional_data: true, network_references: true };
      if (kind === 'nmi') return;
      await ask('/control', { wants_authentication: true, ...(kind === 'adyen' && adyenOnly) });
    },
    async refuse(isRefused) {
      await ask('/control', revoked(isRefused));
    },
    notices: () => senders[kind](ask, clock),
    async close() {
      server.close();
      server.closeAllConnections();
      await rm(journalFile, { force: true });
    },
  };
}

async function listen(server: Server): Promise<string> {
  // The server never closes a connection that a request may be about to use.
  server.keepAliveTimeout = 0;
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}
