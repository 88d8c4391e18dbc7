import type { KindName } from '../../server/vault/processors/kind.ts';
import type { Control } from '../../simulators/faults.ts';
import { adyenAccount, chaosKinds } from '../chaos/kinds.ts';
import type { JournaledOperation } from '../support/ledger.ts';
import { startSimulator } from '../support/simulator.ts';

/** The simulated processor of a walk over the failpoints. */

export interface WalkedProcessor {
  readonly url: string;
  readonly timeoutMs: number;
  /** With the names that faults have at the acquirer. */
  control(body: Control): Promise<void>;
  journal(): Promise<JournaledOperation[]>;
  sendNoticesTo(url: string): Promise<void>;
  /** The names of cards that were saved more than once. */
  savedTwice(): Promise<string[]>;
  /** Whether every notice so far was accepted. */
  isDelivered(): Promise<boolean>;
  stop(): Promise<void>;
}

interface Walked {
  readonly timeoutMs: number;
  readonly options: Readonly<Record<string, string | number>>;
  /** Where the names of faults differ from those of the acquirer. One that does not apply to a request waits. */
  readonly faults: Readonly<Record<string, readonly string[]>>;
}

const timeoutMs = 1_000;

const walked: Readonly<Record<KindName, Walked>> = {
  acquirer: {
    timeoutMs: 5_000,
    options: { 'settle-after-ms': 0 },
    faults: {},
  },
  stripe: {
    timeoutMs,
    options: {},
    faults: { 'decline:51': ['decline:insufficient_funds'] },
  },
  nmi: {
    timeoutMs,
    options: { 'settle-after-ms': 0, 'request-life-ms': 2 * timeoutMs },
    faults: { 'decline:51': ['decline:202'], 'decline:57': ['decline:200'] },
  },
  adyen: {
    timeoutMs,
    options: {
      'hmac-key': adyenAccount.hmacKey.reveal(),
      'merchant-account': adyenAccount.merchantAccount,
      'request-life-ms': 2 * timeoutMs,
    },
    // A lost answer to an authorization is asked for again at once, so the answer to the capture is lost.
    faults: {
      'decline:51': ['decline:12'],
      'decline:57': ['refund_refused'],
      reset_after: ['capture:reset_after'],
      error_after: ['capture:error_after'],
      'refund:reset_after': ['refund:reset_after'],
      'refund:error_after': ['refund:error_after'],
    },
  },
};

export async function openFailpointProcessor(kind: KindName): Promise<WalkedProcessor> {
  const { options, faults, timeoutMs: ofConnection } = walked[kind];
  const { secret, noticesTo } = chaosKinds[kind];
  const simulator = await startSimulator(kind, secret, options);
  const named = (fault: string): readonly string[] => faults[fault] ?? [fault.replace(/^refund:/, '')];
  return {
    url: simulator.url,
    timeoutMs: ofConnection,
    control: ({ next, ...rest }) => simulator.control({ ...rest, ...(next && { next: next.flatMap(named) }) }),
    journal: async () => (await simulator.call('GET', '/journal')).operations,
    async sendNoticesTo(url) {
      if (noticesTo) await simulator.control({ settle_after_ms: 0, ...noticesTo(url) });
    },
    async savedTwice() {
      if (kind !== 'stripe') return [];
      const saved: { metadata: { svc_card: string }; methods: string[] }[] = (await simulator.call('GET', '/customers'))
        .customers;
      const names = saved.flatMap(({ metadata, methods }) => [metadata.svc_card, ...methods.slice(1)]);
      return names.filter((name, index) => names.indexOf(name) !== index);
    },
    isDelivered: async () => kind !== 'adyen' || (await simulator.call('GET', '/notices')).undelivered === 0,
    stop: () => simulator.stop(),
  };
}
