import type { Server } from 'node:http';
import { systemClock as clock } from '../../platform/clock.ts';
import { Secret } from '../../platform/secret.ts';
import { defaultRequestLifeMs } from './acquirer/protocol.ts';
import { openSimulator } from './acquirer/simulator.ts';
import { openFake as openAdyen } from './adyen/fake.ts';
import type { KindName } from './kind.ts';
import { openFake as openNmi } from './nmi/fake.ts';
import { openFake as openStripe } from './stripe/fake.ts';

/** The simulated processors. Each may be killed at any moment: everything it has answered is in its journal. */

export interface FakeSettings {
  readonly journalFile: string;
  readonly secret: string;
  readonly settleAfterMs?: number | undefined;
  /** A request that arrives late is executed within this time, or not at all. */
  readonly requestLifeMs?: number | undefined;
  /** Of Adyen. */
  readonly hmacKey?: string | undefined;
  readonly merchantAccount?: string | undefined;
}

const stripeLifeMs = 1_000;

const fakes: Readonly<Record<KindName, (settings: FakeSettings) => Promise<Server>>> = {
  acquirer: ({ journalFile, secret, settleAfterMs, requestLifeMs = defaultRequestLifeMs }) =>
    openSimulator({ journalFile, secret: new Secret(secret), clock, settleAfterMs, requestLifeMs }),
  stripe: ({ journalFile, secret, requestLifeMs: lateMs = stripeLifeMs }) =>
    openStripe({ journalFile, secret: new Secret(secret), clock, lateMs }),
  nmi: ({ journalFile, secret, settleAfterMs, requestLifeMs = defaultRequestLifeMs }) =>
    openNmi({ journalFile, securityKey: new Secret(secret), clock, settleAfterMs, requestLifeMs }),
  adyen: ({
    journalFile,
    secret,
    hmacKey = '00'.repeat(32),
    merchantAccount = 'SvcECOM',
    requestLifeMs = defaultRequestLifeMs,
  }) =>
    openAdyen({
      journalFile,
      apiKey: new Secret(secret),
      hmacKey: new Secret(hmacKey),
      merchantAccount,
      clock,
      requestLifeMs,
    }),
};

export const openFake = (kind: KindName, settings: FakeSettings): Promise<Server> => fakes[kind](settings);
