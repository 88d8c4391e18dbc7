import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Secret } from '../../server/platform/secret.ts';
import type { Control } from '../../simulators/faults.ts';
import type { Operation } from '../../server/vault/processors/acquirer/protocol.ts';
import { openSimulator } from '../../simulators/acquirer/simulator.ts';
import { connectAcquirer } from './connect.ts';
import { listen } from './listen.ts';
import { callsTo } from './simulator.ts';
import type { TestService } from './service.ts';
import type { Company } from '../../server/company.ts';

/** The acquirer simulator in this process, with a clock that a test can set. */
export interface OwnAcquirer {
  readonly url: string;
  readonly secret: string;
  /** How far its clock is ahead of ours. */
  offsetMs: number;
  control(body: Control): Promise<void>;
  journal(): Promise<Operation[]>;
  /** Sends a charge to it as another merchant would. */
  charge(body: object): Promise<Operation>;
  /** The same for another operation, by its path. */
  operate(path: string, body: object): Promise<Operation>;
  stop(): Promise<void>;
}

export async function openAcquirer(): Promise<OwnAcquirer> {
  const folder = await mkdtemp(join(tmpdir(), 'svc-acquirer-'));
  const secret = 'secret of the acquirer';
  const server = await openSimulator({
    journalFile: join(folder, 'journal.ndjson'),
    secret: new Secret(secret),
    clock: { nowMs: () => Date.now() + acquirer.offsetMs },
    settleAfterMs: 0,
    requestLifeMs: 60_000,
  });
  const url = await listen(server);

  const call = callsTo(url, secret);
  const acquirer: OwnAcquirer = {
    url,
    secret,
    offsetMs: 0,
    async control(body) {
      await call('POST', '/control', body);
    },
    journal: async () => (await call('GET', '/journal')).operations,
    charge: async (body) => (await call('POST', '/charges', body)) as Operation,
    operate: async (path, body) => (await call('POST', `/${path}`, body)) as Operation,
    async stop() {
      server.closeAllConnections();
      server.close();
      await rm(folder, { recursive: true, force: true });
    },
  };
  return acquirer;
}

export interface LiveMerchant {
  readonly company: Company;
  readonly key: string;
}

/** Creates a live company that is connected to the acquirer. */
export async function connectMerchant(
  service: TestService,
  { url, secret }: Pick<OwnAcquirer, 'url' | 'secret'>,
  timing: { readonly timeoutMs?: number; readonly requestLifeMs?: number } = {},
): Promise<LiveMerchant> {
  const { timeoutMs = 5_000, requestLifeMs = 60_000 } = timing;
  const { live } = await service.createMerchant();
  await connectAcquirer(service, live.id, { url, secret, timeoutMs, requestLifeMs });
  const company: Company = { ...live, processor: 'connected' };
  return { company, key: await service.createKey(company) };
}
