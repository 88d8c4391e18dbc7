import { callAt, type Reply } from '../support/service.ts';
import { seededRandom } from '../support/seeded-random.ts';
import { collectionOf, type FuzzedRequest, Pool, requestsFrom } from './requests.ts';
import type { Target } from './target.ts';

/** Sends requests of our own generator. Every answer is compared with the document; what is wrong with one is kept with its request. */

interface LookupOutcome {
  readonly request: string;
  readonly problem: string;
}

export interface Fuzzed {
  readonly requests: number;
  readonly statuses: Readonly<Record<string, number>>;
  readonly called: ReadonlySet<string>;
  readonly succeeded: ReadonlySet<string>;
  readonly findings: readonly LookupOutcome[];
}

export async function fuzz(
  { baseUrl, key, planIds }: Pick<Target, 'baseUrl' | 'key' | 'planIds'>,
  { requests, seed, onProgress }: { requests: number; seed: number; onProgress?: (done: number) => void },
): Promise<Fuzzed> {
  const random = seededRandom(seed);
  const pool = new Pool();
  for (const id of planIds) pool.add('plan_id', id);
  const generator = requestsFrom(random, pool);
  const statuses: Record<string, number> = {};
  const [called, succeeded] = [new Set<string>(), new Set<string>()];
  const findings: LookupOutcome[] = [];
  for (let done = 1; done <= requests; done += 1) {
    const request = generator.next();
    called.add(request.operation.id);
    try {
      const reply = await send(baseUrl, key, request);
      statuses[reply.status] = (statuses[reply.status] ?? 0) + 1;
      if (reply.status < 300) {
        succeeded.add(request.operation.id);
        pool.learn(collectionOf(request.operation.path), reply.body);
      }
      if (reply.status >= 500 && !expected.has(reply.body.error?.code)) {
        findings.push({ request: described(request), problem: `${reply.status} ${reply.text.slice(0, 500)}` });
      }
    } catch (error) {
      findings.push({ request: described(request), problem: String(error).slice(0, 2_000) });
    }
    onProgress?.(done);
  }
  return { requests, statuses, called, succeeded, findings };
}

/** Two operations are in the contract and not enabled. */
const expected = new Set(['not_implemented']);

const send = (baseUrl: string, key: string, { operation, path, raw, headers }: FuzzedRequest): Promise<Reply> =>
  callAt(baseUrl, key, operation.method, path, { headers, ...(raw !== undefined && { raw }) });

function described({ operation, path, raw, headers }: FuzzedRequest): string {
  const body = raw === undefined ? '' : ` ${String(raw).slice(0, 2_000)}`;
  return `${operation.method} ${path} ${JSON.stringify(headers)}${body}`;
}
