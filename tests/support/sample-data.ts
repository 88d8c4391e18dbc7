import { join } from 'node:path';
import { continueSampleData, type SampleDataShard } from '../../server/features/sample-data/jobs.ts';
import { createDiskStore } from '../../server/platform/files/disk-store.ts';
import { Secret } from '../../server/platform/secret.ts';
import { originalKeys } from '../../server/platform/service-keys.ts';
import type { TestService } from './service.ts';
import { silentLog } from './silent-log.ts';

/** What the worker uses to fill and clear the sandboxes of a service. */
function sampleDataShard(service: TestService): SampleDataShard {
  const { db, clock, vault, webhookSecretKey, orders, company, mailKey, linkKey, baseUrl, config } = service;
  const signingKey = originalKeys(new Secret(Buffer.alloc(32, 7)))['file-urls'];
  return {
    name: company.shard,
    db,
    clock,
    vault,
    files: createDiskStore({ root: join(config.dataDir, 'files'), baseUrl, signingKey }),
    webhookSecretKey,
    emails: { baseUrl, clock, linkKey, mailKey, customerPageLink: async () => `${baseUrl}/customer` },
    orders,
    log: silentLog,
  };
}

/** Works until everything is done, or until this many actions are. */
export async function workOnSampleData(service: TestService, actions = Number.POSITIVE_INFINITY): Promise<number> {
  const shard = sampleDataShard(service);
  for (;;) {
    const left = await continueSampleData(shard);
    const [row] = await service.db.query<{ done: number }>('SELECT max(done) AS done FROM sample_data');
    if (left === 'idle' || (row?.done ?? 0) >= actions) return row?.done ?? 0;
  }
}
