import { setTimeout as sleep } from 'node:timers/promises';
import { ApiFailure, call, chosenTarget, type Target } from './api.ts';
import { UsageError } from './command-error.ts';
import { coloredStatus } from './colors.ts';
import type { Flags } from './options.ts';

/** `logs`: shows the request log. */

interface LoggedRequest {
  readonly id: string;
  readonly request_id: string;
  readonly method: string;
  readonly path: string;
  readonly status: number;
  readonly duration_ms: number;
  readonly actor: { readonly name: string };
  readonly created_at: string;
}

interface Page {
  readonly data: readonly LoggedRequest[];
  readonly has_more: boolean;
  readonly cursors: { readonly next: string | null };
}

const shown = (request: LoggedRequest, flags: Flags): string => {
  if (flags.json) return `${JSON.stringify(request)}\n`;
  const { created_at, status, method, path, duration_ms, request_id, actor } = request;
  const time = new Date(created_at).toTimeString().slice(0, 8);
  return `${time}  ${coloredStatus(status)}  ${method.padEnd(6)}  ${path}  ${duration_ms} ms  ${request_id}  ${actor.name}\n`;
};

const listPath = (filters: Record<string, string | undefined>): string => {
  const given = Object.entries(filters).filter((entry): entry is [string, string] => entry[1] !== undefined);
  return `/v1/requests?${new URLSearchParams(given).toString()}`;
};

const filtersOf = ({ method, status, path }: Flags): Record<string, string | undefined> => ({
  method: method?.toUpperCase(),
  status,
  path,
});

const everyMs = 1_000;
/** Each process writes the log in batches. Requests older than this have been written. */
const writtenMs = 15_000;

async function follow(target: Target, flags: Flags, known: readonly LoggedRequest[]): Promise<void> {
  const stopping = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => stopping.abort());
  const { signal: stopped } = stopping;
  const seen = new Map(known.map(({ id, created_at }) => [id, Date.parse(created_at)]));
  let newestMs = Math.max(0, ...seen.values());
  // Requests that the first page left out because of its limit stay left out.
  let leftOutUntilMs = newestMs;
  while (!stopped.aborted) {
    const since = newestMs > 0 ? new Date(newestMs - writtenMs).toISOString() : undefined;
    try {
      await readNew(since);
    } catch (error) {
      const passing = error instanceof ApiFailure && (error.status === null || error.status >= 429);
      if (!passing) throw error;
      process.stderr.write(`${error.message.split('\n')[0]} Retrying.\n`);
    }
    for (const [id, atMs] of seen) if (atMs < newestMs - 2 * writtenMs) seen.delete(id);
    await sleep(everyMs, undefined, { signal: stopped }).catch(() => undefined);
  }

  async function readNew(since: string | undefined): Promise<void> {
    let after: string | undefined;
    do {
      const filters = { ...filtersOf(flags), sort: 'created_at[asc]', 'created_at[gte]': since, limit: '100' };
      const page = (await call(target, 'GET', listPath({ ...filters, starting_after: after }))) as Page;
      for (const request of page.data) {
        newestMs = Math.max(newestMs, Date.parse(request.created_at));
        if (seen.has(request.id)) continue;
        seen.set(request.id, Date.parse(request.created_at));
        if (Date.parse(request.created_at) > leftOutUntilMs) process.stdout.write(shown(request, flags));
      }
      after = page.has_more ? (page.cursors.next ?? undefined) : undefined;
    } while (after && !stopped.aborted);
    leftOutUntilMs = 0;
  }
}

export async function logsCommand([requestId]: readonly string[], flags: Flags): Promise<string> {
  const target = await chosenTarget(flags);
  if (requestId !== undefined) {
    if (!requestId.startsWith('req_')) throw new UsageError('A request ID begins with req_, for example req_k3v5….');
    return `${JSON.stringify(await call(target, 'GET', `/v1/requests/${requestId}`), null, flags.json ? 0 : 2)}\n`;
  }
  const page = (await call(target, 'GET', listPath({ ...filtersOf(flags), limit: flags.limit ?? '20' }))) as Page;
  const latest = page.data.toReversed();
  process.stdout.write(latest.map((request) => shown(request, flags)).join(''));
  if (flags.follow) await follow(target, flags, latest);
  return '';
}
