import { connect, type Socket } from 'node:net';
import type { ClientMessage, Job, JobResult } from './client.ts';
import type { BenchRequest, Workload } from './workload.ts';

/**
 * A closed loop: each connection sends its next request when the last response is complete. It uses plain sockets, because
 * the client shares two cores with the servers: autocannon needs 42 µs for each request with its own body, this 18 µs.
 */

const headerEnd = Buffer.from('\r\n\r\n');
const timeoutMs = 30_000;

interface Tally {
  readonly latenciesMs: number[];
  readonly statuses: Record<string, number>;
  readonly samples: Record<string, string>;
}

function writeRequest(request: BenchRequest, fixedHeaders: string): string {
  let head = `${request.method} ${request.path} HTTP/1.1\r\n${fixedHeaders}`;
  for (const name in request.headers) head += `${name}: ${request.headers[name]}\r\n`;
  if (request.body === undefined) return `${head}\r\n`;
  const body = JSON.stringify(request.body);
  return `${head}Content-Type: application/json\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`;
}

interface Answer {
  readonly status: string;
  readonly body: string;
}

/** Undefined while the response is incomplete. */
function readAnswer(bytes: Buffer): Answer | undefined {
  const end = bytes.indexOf(headerEnd);
  if (end < 0) return undefined;
  const head = bytes.toString('latin1', 0, end);
  const length = /\r\ncontent-length: (\d+)/i.exec(head)?.[1];
  if (length === undefined) throw new Error(`an answer without Content-Length:\n${head}`);
  const bodyStart = end + headerEnd.length;
  if (bytes.length < bodyStart + Number(length)) return undefined;
  const status = head.slice(9, 12);
  return { status, body: status.startsWith('2') ? '' : bytes.toString('utf8', bodyStart) };
}

function note(tally: Tally, status: string, body: string): void {
  tally.statuses[status] = (tally.statuses[status] ?? 0) + 1;
  if (!status.startsWith('2')) tally.samples[status] ??= body.slice(0, 500);
}

function runConnection(port: number, next: () => string, untilMs: number, tally: Tally): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  let received: Buffer | undefined;
  let startedAtMs = 0;
  let done = false;
  const socket: Socket = connect({ port, host: '127.0.0.1', noDelay: true }, send);
  socket.setTimeout(timeoutMs, () => socket.destroy(new Error('no answer in 30 s')));

  function send(): void {
    startedAtMs = performance.now();
    if (startedAtMs >= untilMs) {
      done = true;
      socket.end();
      return;
    }
    socket.write(next(), 'latin1');
  }

  function receive(chunk: Buffer): void {
    received = received ? Buffer.concat([received, chunk]) : chunk;
    const answer = readAnswer(received);
    if (!answer) return;
    received = undefined;
    tally.latenciesMs.push(performance.now() - startedAtMs);
    note(tally, answer.status, answer.body);
    send();
  }

  socket.on('data', (chunk) => {
    try {
      receive(chunk);
    } catch (error) {
      socket.destroy();
      reject(error);
    }
  });
  socket.on('error', (error) => note(tally, 'broken', error.message));
  socket.on('close', () => {
    if (!done && !tally.statuses.broken) note(tally, 'broken', 'the server closed the connection');
    resolve();
  });
  return promise;
}

function percentile(sorted: Float64Array, share: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}

async function runJob(job: Job): Promise<JobResult> {
  const { workload } = (await import(job.module)) as { workload: Workload };
  const make = workload.requests[job.request]?.(job.data);
  if (!make) throw new Error(`${job.module} has no request named ${job.request}`);
  const { host, port } = new URL(job.baseUrl);
  const fixedHeaders = `Host: ${host}\r\n${job.key ? `Authorization: Bearer ${job.key}\r\n` : ''}`;
  const next = (): string => writeRequest(make(), fixedHeaders);

  const tally: Tally = { latenciesMs: [], statuses: {}, samples: {} };
  const startedAtMs = performance.now();
  const untilMs = startedAtMs + job.seconds * 1000;
  const connections = Array.from({ length: job.connections }, () => runConnection(Number(port), next, untilMs, tally));
  await Promise.all(connections);
  const elapsedSeconds = (performance.now() - startedAtMs) / 1000;

  const sorted = Float64Array.from(tally.latenciesMs).toSorted();
  return {
    perSecond: sorted.length / elapsedSeconds,
    count: sorted.length,
    p50Ms: percentile(sorted, 0.5),
    p99Ms: percentile(sorted, 0.99),
    maxMs: percentile(sorted, 1),
    statuses: tally.statuses,
    samples: tally.samples,
  };
}

function tellParent(message: ClientMessage): void {
  process.send?.(message);
}

process.on('message', (job: Job) => {
  runJob(job).then(
    (result) => tellParent({ result }),
    (error: Error) => tellParent({ error: error.stack ?? error.message }),
  );
});
