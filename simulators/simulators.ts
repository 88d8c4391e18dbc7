import type { Server } from 'node:http';
import { systemClock as clock } from '../server/platform/clock.ts';
import { Secret } from '../server/platform/secret.ts';
import { defaultRequestLifeMs } from '../server/vault/processors/acquirer/protocol.ts';
import { openSimulator as openAcquirer } from './acquirer/simulator.ts';
import { openSimulator as openAdyen } from './adyen/simulator.ts';
import type { KindName } from '../server/vault/processors/kind.ts';
import { openSimulator as openNmi } from './nmi/simulator.ts';
import { openSimulator as openStripe } from './stripe/simulator.ts';

/** The simulated processors. Each may be killed at any moment: everything it has answered is in its journal. */

export interface SimulatorSettings {
  readonly journalFile: string;
  readonly secret: string;
  readonly settleAfterMs?: number | undefined;
  /** A request that arrives late is executed within this time, or not at all. */
  readonly requestLifeMs?: number | undefined;
  /** Of Adyen. */
  readonly hmacKey?: string | undefined;
  readonly merchantAccount?: string | undefined;
  /** What a merchant has arranged. Of Adyen. */
  readonly account?: Readonly<Record<string, unknown>> | undefined;
}

const stripeLifeMs = 1_000;

const simulators: Readonly<Record<KindName, (settings: SimulatorSettings) => Promise<Server>>> = {
  acquirer: ({ journalFile, secret, settleAfterMs, requestLifeMs = defaultRequestLifeMs }) =>
    openAcquirer({ journalFile, secret: new Secret(secret), clock, settleAfterMs, requestLifeMs }),
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
    account,
  }) =>
    openAdyen({
      journalFile,
      apiKey: new Secret(secret),
      hmacKey: new Secret(hmacKey),
      merchantAccount,
      clock,
      requestLifeMs,
      account,
    }),
};

export const openSimulator = (kind: KindName, settings: SimulatorSettings): Promise<Server> =>
  simulators[kind](settings);
