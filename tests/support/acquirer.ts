import type { Operation } from '../../server/vault/processors/acquirer/protocol.ts';
import { type Simulator, startSimulator } from './simulator.ts';

export interface AcquirerOptions {
  readonly settleAfterMs?: number;
  readonly requestLifeMs?: number;
}

export interface TestAcquirer extends Simulator {
  journal(): Promise<Operation[]>;
  health(): Promise<{ operations: number; fsyncs: number }>;
}

export async function startAcquirer({ settleAfterMs, requestLifeMs }: AcquirerOptions = {}): Promise<TestAcquirer> {
  const options = { 'settle-after-ms': settleAfterMs, 'request-life-ms': requestLifeMs };
  const simulator = await startSimulator('acquirer', 'secret of the acquirer', options);
  return {
    ...simulator,
    journal: async () => (await simulator.call('GET', '/journal')).operations,
    health: async () => (await simulator.call('GET', '/healthz')) as { operations: number; fsyncs: number },
  };
}
