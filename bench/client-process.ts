import { connect, type Socket } from 'node:net';
import type { ClientMessage, Job, JobResult } from './client.ts';
import type { BenchRequest, Workload } from './workload.ts';

/**
 * A closed loop (each connection sends its next request when the last response is complete) or an open loop (requests are sent at a
 * steady pace, on any free connection). It uses plain sockets, because the client shares two cores with the servers:
 * autocannon needs 42 µs for each request with its own body, this 18 µs.
 */

const headerEnd = Buffer.from('\r\n\r\n');
const defaultPatienceMs = 30_000;

interface Tally {
  readonly latenciesMs: number[];
  readonly byStatusMs: Record<string, number[]>;
  readonly statuses: Record<string, number>;
  readonly samples: Record<string, string>;
  readonly lagsMs: number[];
}

function writeRequest(request: BenchRequest, fixedHeaders: string): string {
  let head = `${request.method} ${request.path} HTTP/1.1\r\n${fixedHeaders}`;
  for (const name in request.headers) head += `${name}: ${request.headers[name]}\r\n`;
  const body = request.raw ?? (request.body === undefined ? undefined : JSON.stringify(request.body));
  if (body === undefined) return `${head}\r\n`;
  const { contentType = 'application/json' } = request;
  const length = request.contentType ? body.length : Buffer.byteLength(body);
  return `${head}Content-Type: ${contentType}\r\nContent-Length: ${length}\r\n\r\n${body}`;
}

interface Answer {
  readonly status: string;
  readonly body: string;
  readonly closes: boolean;
}

/** Assembles a response from its pieces, and parses its head once. */
class Receiver {
  #pieces: Buffer[] = [];
  #received = 0;
  #head: { text: string; bodyStart: number; length: number } | undefined;

  /** Undefined while the response is incomplete. */
  take(piece: Buffer): Answer | undefined {
    this.#pieces.push(piece);
    this.#received += piece.length;
    this.#head ??= this.#readHead();
    if (!this.#head || this.#received < this.#head.bodyStart + this.#head.length) return undefined;
    const { text, bodyStart } = this.#head;
    const status = text.slice(9, 12);
    const body = status.startsWith('2') ? '' : Buffer.concat(this.#pieces).toString('utf8', bodyStart);
    this.reset();
    return { status, body, closes: /\r\nconnection: close/i.test(text) };
  }

  reset(): void {
    this.#pieces = [];
    this.#received = 0;
    this.#head = undefined;
  }

  #readHead(): { text: string; bodyStart: number; length: number } | undefined {
    const bytes = this.#pieces.length === 1 && this.#pieces[0] ? this.#pieces[0] : Buffer.concat(this.#pieces);
    this.#pieces = [bytes];
    const end = bytes.indexOf(headerEnd);
    if (end < 0) return undefined;
    const text = bytes.toString('latin1', 0, end);
    const length = /\r\ncontent-length: (\d+)/i.exec(text)?.[1];
    const hasNone = /^HTTP\/1\.1 (204|304)/.test(text);
    if (length === undefined && !hasNone) throw new Error(`an answer without Content-Length:\n${text}`);
    return { text, bodyStart: end + headerEnd.length, length: Number(length ?? 0) };
  }
}

function note(tally: Tally, status: string, body: string): void {
  tally.statuses[status] = (tally.statuses[status] ?? 0) + 1;
  if (!status.startsWith('2')) tally.samples[status] ??= body.slice(0, 500);
}

interface Connection {
  /** Undefined as an answer: the client has lost its patience, or the connection broke. */
  send(text: string, answered: (answer: Answer | undefined) => void): void;
  end(): void;
}

/** Opened when it is needed, and again after it was closed. */
function openConnection(
  port: number,
  patienceMs: number,
  localAddress: string | undefined,
  broken: (error: Error) => void,
): Connection {
  let socket: Socket | undefined;
  const receiver = new Receiver();
  let waiting: ((answer: Answer | undefined) => void) | undefined;

  function finish(answer: Answer | undefined): void {
    const answered = waiting;
    waiting = undefined;
    answered?.(answer);
  }

  function drop(): void {
    const old = socket;
    socket = undefined;
    old?.destroy();
  }

  function open(): Socket {
    const opened = connect({ port, host: '127.0.0.1', noDelay: true, ...(localAddress && { localAddress }) });
    receiver.reset();
    opened.setTimeout(patienceMs, () => {
      if (opened !== socket) return;
      drop();
      finish(undefined);
    });
    opened.on('data', (piece) => {
      if (opened !== socket) return;
      const answer = receiver.take(piece);
      if (!answer) return;
      if (answer.closes) drop();
      finish(answer);
    });
    opened.on('error', (error) => {
      if (opened === socket && waiting) broken(error);
    });
    opened.on('close', () => {
      if (opened !== socket) return;
      socket = undefined;
      finish(undefined);
    });
    return opened;
  }

  return {
    send(text, answered) {
      waiting = answered;
      socket ??= open();
      socket.write(text, 'latin1');
    },
    end() {
      const old = socket;
      socket = undefined;
      old?.end();
    },
  };
}

interface Run {
  readonly connections: readonly Connection[];
  readonly next: () => string;
  readonly untilMs: number;
  readonly tally: Tally;
}

function count(tally: Tally, answer: Answer | undefined, startedAtMs: number): void {
  if (!answer) return note(tally, 'late', 'no answer in time');
  const tookMs = performance.now() - startedAtMs;
  tally.latenciesMs.push(tookMs);
  (tally.byStatusMs[answer.status] ??= []).push(tookMs);
  note(tally, answer.status, answer.body);
}

function closedLoop({ connections, next, untilMs, tally }: Run): Promise<unknown> {
  const loop = (connection: Connection): Promise<void> =>
    new Promise((resolve) => {
      const send = (): void => {
        const startedAtMs = performance.now();
        if (startedAtMs >= untilMs) {
          connection.end();
          return resolve();
        }
        connection.send(next(), (answer) => {
          count(tally, answer, startedAtMs);
          // A server that refuses connections must not keep this process from everything else.
          if (answer) send();
          else setTimeout(send, 10);
        });
      };
      send();
    });
  return Promise.all(connections.map(loop));
}

/** What finds no free connection waits, and the time it waits counts. */
function openLoop({ connections, next, untilMs, tally }: Run, perSecond: number): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const free = [...connections];
  const due: number[] = [];
  let dueAtMs = performance.now();
  let running = 0;

  function send(connection: Connection, scheduledMs: number): void {
    running += 1;
    connection.send(next(), (answer) => {
      running -= 1;
      count(tally, answer, scheduledMs);
      const waiting = due.shift();
      if (waiting === undefined) free.push(connection);
      else send(connection, waiting);
      if (running === 0 && performance.now() >= untilMs) finish();
    });
  }

  function tick(): void {
    const nowMs = performance.now();
    if (dueAtMs < untilMs) tally.lagsMs.push(Math.max(0, nowMs - dueAtMs));
    for (; dueAtMs <= nowMs && dueAtMs < untilMs; dueAtMs += 1000 / perSecond) {
      const connection = free.shift();
      if (connection) send(connection, dueAtMs);
      else due.push(dueAtMs);
    }
    if (nowMs >= untilMs && running === 0) finish();
  }

  function finish(): void {
    clearInterval(timer);
    for (const connection of connections) connection.end();
    resolve();
  }

  const timer = setInterval(tick, 1);
  return promise;
}

function percentile(values: readonly number[], share: number): number {
  const sorted = Float64Array.from(values).toSorted();
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}

async function runJob(job: Job): Promise<JobResult> {
  const { workload } = (await import(job.module)) as { workload: Workload };
  const make = workload.requests[job.request]?.(job.data);
  if (!make) throw new Error(`${job.module} has no request named ${job.request}`);
  const { host, port } = new URL(job.baseUrl);
  const fixedHeaders = `Host: ${host}\r\n${job.key ? `Authorization: Bearer ${job.key}\r\n` : ''}`;

  const tally: Tally = { latenciesMs: [], byStatusMs: {}, statuses: {}, samples: {}, lagsMs: [] };
  const startedAtMs = performance.now();
  const run: Run = {
    connections: Array.from({ length: job.connections }, (_, index) => {
      const address = job.from && `${job.from}.${index + 1}`;
      const broken = (error: Error): void => note(tally, 'broken', error.message);
      return openConnection(Number(port), job.patienceMs ?? defaultPatienceMs, address, broken);
    }),
    next: () => writeRequest(make(), fixedHeaders),
    untilMs: startedAtMs + job.seconds * 1000,
    tally,
  };
  await (job.perSecond === undefined ? closedLoop(run) : openLoop(run, job.perSecond));
  const elapsedSeconds = (performance.now() - startedAtMs) / 1000;

  const { latenciesMs, byStatusMs } = tally;
  const ofStatus = (values: readonly number[]) => ({
    count: values.length,
    p50Ms: percentile(values, 0.5),
    p95Ms: percentile(values, 0.95),
    p99Ms: percentile(values, 0.99),
  });
  return {
    perSecond: latenciesMs.length / elapsedSeconds,
    count: latenciesMs.length,
    p50Ms: percentile(latenciesMs, 0.5),
    p99Ms: percentile(latenciesMs, 0.99),
    maxMs: percentile(latenciesMs, 1),
    generatorLagP95Ms: percentile(tally.lagsMs, 0.95),
    byStatus: Object.fromEntries(Object.entries(byStatusMs).map(([status, values]) => [status, ofStatus(values)])),
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
