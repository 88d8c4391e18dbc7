import { join } from 'node:path';
import { openDatabase, type DatabasePool } from '../../../server/platform/database.ts';
import { type ChaosProcessor, openChaosProcessor } from '../../chaos/processor.ts';
import { type ChaosPostgres, openChaosPostgres } from '../../chaos/postgres.ts';
import { prepareCompany } from '../../chaos/shops.ts';
import { type Supervised, supervise } from '../../chaos/supervised.ts';
import type { DrillStage } from '../drill.ts';

/** A PostgreSQL and an acquirer for one drill, with a live company, and the processes of the service on them. */

export interface Backends {
  readonly postgres: ChaosPostgres;
  readonly acquirer: ChaosProcessor;
  readonly apiKey: string;
  /** The environment of every process. */
  readonly environment: Record<string, string>;
  openDatabase(connectionString?: string): DatabasePool;
  startProcess(name: string, more: Record<string, string>): Promise<Supervised>;
}

export async function startBackends(
  { folder, cleanUp }: DrillStage,
  ports: { readonly database: number; readonly acquirer: number },
  seed: number,
  ofAcquirer: Readonly<Record<string, string>> = {},
): Promise<Backends> {
  const acquirer = openChaosProcessor('acquirer', { folder, port: ports.acquirer, seed, environment: ofAcquirer });
  cleanUp(() => acquirer.killNow());
  const postgres = await openChaosPostgres(folder, ports.database);
  cleanUp(() => postgres.killNow());
  await Promise.all([postgres.start(), acquirer.start()]);
  const environment = {
    DATABASE_URL: postgres.connectionString,
    SVC_MASTER_SECRET: 'the master secret of a drill on this machine',
    SVC_DATA_DIR: join(folder, 'data'),
    SVC_LOG_LEVEL: 'warn',
    SVC_RATE_LIMIT_GLOBAL: 'off',
    SVC_RATE_LIMIT_READ: 'off',
    SVC_RATE_LIMIT_WRITE: 'off',
    SVC_RATE_LIMIT_CAPTURE: 'off',
  };
  const { apiKey } = await prepareCompany(environment, acquirer);
  return {
    postgres,
    acquirer,
    apiKey,
    environment,
    openDatabase(connectionString = postgres.connectionString) {
      const db = openDatabase({ connectionString, poolSize: 2, applicationName: 'drill', onError: () => undefined });
      cleanUp(() => db.close());
      return db;
    },
    async startProcess(name, more) {
      const started = supervise(name, { ...environment, ...more }, join(folder, `${name}.log`));
      cleanUp(() => started.stop());
      await started.waitUntilReady();
      return started;
    },
  };
}
