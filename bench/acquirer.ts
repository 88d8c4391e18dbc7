import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { nextKeys } from '../server/vault/key-store.ts';
import { startSimulator } from '../tests/support/simulator.ts';
import type { Side } from './against.ts';

/** Live companies whose orders are charged by a simulated acquirer in its own process. */
export interface Acquirers {
  /** For the service, which must open what the command line sealed. */
  readonly settings: Readonly<Record<string, string>>;
  /** Connects the live company of a database with the command line of its tree, and returns a key of the company. */
  connect(side: Pick<Side, 'environment' | 'root'>): Promise<string>;
  stop(): Promise<void>;
}

const secret = 'bench-acquirer';

export function openAcquirers(): Acquirers {
  const settings = { SVC_VAULT_KEYS: nextKeys(undefined) };
  const opened: (() => Promise<void>)[] = [];
  return {
    settings,
    async connect({ environment, root }) {
      const simulator = await startSimulator('acquirer', secret);
      const folder = await mkdtemp(join(tmpdir(), 'svc-bench-'));
      opened.push(simulator.stop, () => rm(folder, { recursive: true }));
      const svc = async (...words: string[]): Promise<string> => {
        const env = {
          ...process.env,
          ...settings,
          DATABASE_URL: environment.connectionString,
          SVC_MASTER_SECRET: environment.masterSecret.reveal().toString(),
          SVC_DATA_DIR: folder,
          SVC_PROCESSOR_SECRET: secret,
        };
        const program = join(root, 'cli', 'svc.ts');
        return (await promisify(execFile)(process.execPath, [program, ...words, '--company', 'live'], { env })).stdout;
      };
      await svc('processors', 'connect', '--url', simulator.url);
      return (await svc('keys', 'create')).trim();
    },
    async stop() {
      for (const step of opened) await step();
    },
  };
}
