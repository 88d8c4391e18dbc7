import type { Clock } from '../platform/clock.ts';
import type { Database } from '../platform/database.ts';
import { deleteConnection } from './connection-queries.ts';
import type { DeclineCounter } from './declines.ts';
import type { KeyStore } from './key-store.ts';
import {
  completed,
  type Connected,
  type ConnectedProcessors,
  openAdapter,
  sameCredentials,
  storeConnection,
} from './processors/connections.ts';
import { ConfigurationProblem } from './processors/kind.ts';
import type { ConnectionTest } from './processors/processor.ts';
import type { FieldProblem, Vault } from './vault.ts';

type ConnectionCalls = Pick<
  Vault,
  'connect' | 'forget' | 'test' | 'receive' | 'poll' | 'release' | 'defenseReasons' | 'submitEvidence' | 'acceptDispute'
>;

/** The calls of the vault about connections, and about what their processors report. */
export function connectionCalls({
  db,
  keys,
  processors,
  clock,
  extraOrigins,
  counter,
}: {
  readonly db: Database;
  readonly keys: KeyStore;
  readonly processors: ConnectedProcessors;
  readonly clock: Clock;
  readonly extraOrigins: readonly string[];
  readonly counter: DeclineCounter;
}): ConnectionCalls {
  return {
    async connect(connection) {
      const store = async () => storeConnection(db, keys, extraOrigins, await completed(db, keys, connection));
      const problem = await noticingProblem(store);
      processors.forget(connection.id);
      return problem;
    },
    async forget({ companyId, connectionId }) {
      await deleteConnection(db, companyId, connectionId);
      processors.forget(connectionId);
    },
    async test(connection) {
      if ('configuration' in connection) {
        const whole = await completed(db, keys, connection);
        const problem = await noticingProblem(async () => openAdapter(whole, extraOrigins));
        if (problem) return problem;
        const result = await testOf(openAdapter(whole, extraOrigins));
        return result.outcome === 'works' ? { ...result, sameAs: await sameCredentials(db, keys, whole) } : result;
      }
      const connected = await processors(connection.companyId, 'live', connection.connectionId);
      return connected ? testOf(connected.processor) : { outcome: 'fails', problem: 'The credentials were removed.' };
    },
    async receive({ companyId, connectionId, ...delivery }) {
      const connected = await processors(companyId, 'live', connectionId);
      const reception = connected?.processor.receive?.({ ...delivery, nowMs: clock.nowMs() });
      if (reception?.outcome === 'accepted') await counter.noteNotices(companyId, connectionId, reception.notices);
      return reception ?? { outcome: 'refused', reason: 'this connection receives no notices' };
    },
    async poll({ connectionId, ...request }) {
      const connected = await processors(request.companyId, 'live', connectionId);
      const polled = await connected?.processor.poll?.(request);
      if (polled) await counter.noteNotices(request.companyId, connectionId, polled.notices);
      return polled;
    },
    async release({ connectionId, ...request }) {
      const connected = await processors(request.companyId, 'live', connectionId);
      // Without credentials nothing can be released; the processor does it when the authorization expires.
      return (await connected?.processor.release?.(request)) ?? true;
    },
    async defenseReasons({ connectionId, ...request }) {
      const disputes = (await processors(request.companyId, 'live', connectionId))?.processor.disputes;
      if (!disputes) return { outcome: 'refused', reason: takesNoEvidence };
      return disputes.reasons?.(request) ?? { outcome: 'offered', reasons: [] };
    },
    async submitEvidence({ connectionId, ...request }) {
      const disputes = (await processors(request.companyId, 'live', connectionId))?.processor.disputes;
      return disputes ? disputes.submit(request) : { outcome: 'refused', reason: takesNoEvidence };
    },
    async acceptDispute({ connectionId, ...request }) {
      const disputes = (await processors(request.companyId, 'live', connectionId))?.processor.disputes;
      return disputes ? disputes.accept(request) : { outcome: 'refused', reason: takesNoEvidence };
    },
  };
}

const takesNoEvidence = 'This processor takes no answers to disputes through the API. Answer at the processor.';

async function testOf(processor: Connected['processor']): Promise<ConnectionTest> {
  const nothingToCall = { outcome: 'fails', problem: 'This kind of processor has no call for a test.' } as const;
  return processor.test?.() ?? nothingToCall;
}

async function noticingProblem(work: () => Promise<unknown>): Promise<FieldProblem | undefined> {
  try {
    await work();
    return undefined;
  } catch (error) {
    if (!(error instanceof ConfigurationProblem)) throw error;
    return { outcome: 'invalid', field: error.field, problem: error.message };
  }
}
