import { after, afterEach, before } from 'node:test';
import type { Vault } from '../../server/vault/vault.ts';
import { startTestService, type TestOptions, type TestService } from './service.ts';

/** The processor functions that a test replaces; the others are those of the sandbox. */
export type Faults = {
  -readonly [Name in 'charge' | 'authorize' | 'capture' | 'refund' | 'void' | 'lookup' | 'connect']?: Vault[Name];
};

export interface FaultyService {
  readonly service: TestService;
  readonly faults: Faults;
  stop(): Promise<void>;
}

/** A service whose processor answers as a test sets it. */
export async function startFaultyService(options: TestOptions = {}, faults: Faults = {}): Promise<FaultyService> {
  const base = await startTestService(options);
  const vault: Vault = {
    ...base.vault,
    charge: (request) => (faults.charge ?? base.vault.charge)(request),
    authorize: (request) => (faults.authorize ?? base.vault.authorize)(request),
    capture: (request) => (faults.capture ?? base.vault.capture)(request),
    refund: (request) => (faults.refund ?? base.vault.refund)(request),
    void: (request) => (faults.void ?? base.vault.void)(request),
    lookup: (request) => (faults.lookup ?? base.vault.lookup)(request),
    connect: (...connection) => (faults.connect ?? base.vault.connect)(...connection),
  };
  const service = await startTestService({ ...options, database: base.database, vault });
  return {
    service,
    faults,
    async stop() {
      await service.stop();
      await base.stop();
    },
  };
}

/**
 * Starts such a service before the tests of a file, and stops it after them. Each test begins without faults. Returns
 * the faults.
 */
export function useFaultyService(use: (service: TestService) => unknown): Faults {
  const faults: Faults = {};
  let stop: () => Promise<void>;
  before(async () => {
    const started = await startFaultyService({}, faults);
    ({ stop } = started);
    await use(started.service);
  });
  afterEach(() => {
    for (const name of Object.keys(faults)) delete faults[name as keyof Faults];
  });
  after(() => stop());
  return faults;
}

export const unknownOutcome = async (): Promise<{ outcome: 'unknown'; reason: string }> => ({
  outcome: 'unknown',
  reason: 'no answer',
});

const response = {
  transaction_id: 'test_1',
  authorization_code: null,
  avs_result: null,
  cvv_result: null,
  response_code: null,
  response_text: null,
};

export const approvedOutcome = async () => ({ outcome: 'approved', response, settled: true }) as const;

export const declinedOutcome = async () =>
  ({ outcome: 'declined', response, failureCode: 'do_not_honor', failureReason: 'No.' }) as const;
