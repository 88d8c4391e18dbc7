import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

/**
 * A network between the service and its database that stops carrying packets, as a firewall or the
 * failover of a managed database does: no connection is closed, nothing arrives.
 */

export interface FreezingProxy {
  readonly port: number;
  /** The address of the database as it is reached through here. */
  through(connectionString: string): string;
  /** The connections that exist now stay open, and nothing passes on them ever again. */
  freeze(): void;
  /** What is sent on them arrives, and no answer comes back: statements run, and their results are lost. */
  loseAnswers(): void;
  /** Loses the next answer with this text in it, after its commit, and with it the connection. Fulfilled when it has. */
  cutAnswer(text: string): Promise<void>;
  /** Whether new connections get through; until then they are accepted and nothing comes back. */
  accept(newOnes: boolean): void;
  /** How many connections work. */
  working(): number;
  stop(): Promise<void>;
}

/** What PostgreSQL sends last, when it is outside of a transaction. */
const readyForQuery = Buffer.from('Z\0\0\0\x05I', 'latin1');

interface Flow {
  readonly sockets: readonly Socket[];
  asking: boolean;
  answering: boolean;
}

export async function startFreezingProxy(target: string): Promise<FreezingProxy> {
  const { hostname, port: targetPort } = new URL(target);
  const flows = new Set<Flow>();
  let accepting = true;
  let awaited: { readonly text: string; readonly done: () => void } | undefined;

  const server = createServer((inner) => {
    const outer = connect(Number(targetPort), hostname);
    const flow: Flow = { sockets: [inner, outer], asking: accepting, answering: accepting };
    flows.add(flow);
    inner.on('data', (chunk) => flow.asking && outer.write(chunk));
    let cut: (() => void) | undefined;
    outer.on('data', (chunk) => {
      if (awaited && chunk.includes(awaited.text)) {
        cut = awaited.done;
        awaited = undefined;
      }
      if (!cut) return flow.answering && inner.write(chunk);
      // Only now the statement is committed.
      if (!chunk.subarray(-readyForQuery.length).equals(readyForQuery)) return false;
      cut();
      return inner.destroy();
    });
    for (const [one, other] of [
      [inner, outer],
      [outer, inner],
    ] as const) {
      one.on('error', () => undefined);
      one.on('close', () => {
        // The end of one side is a packet too: it does not get through either.
        if (flow.asking && flow.answering) other.destroy();
        if (other.destroyed) flows.delete(flow);
      });
    }
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;

  return {
    port,
    through(connectionString) {
      const url = new URL(connectionString);
      url.hostname = '127.0.0.1';
      url.port = String(port);
      return url.href;
    },
    freeze() {
      for (const flow of flows) Object.assign(flow, { asking: false, answering: false });
    },
    loseAnswers() {
      for (const flow of flows) flow.answering = false;
    },
    cutAnswer(text) {
      const { promise, resolve } = Promise.withResolvers<void>();
      awaited = { text, done: resolve };
      return promise;
    },
    accept(newOnes) {
      accepting = newOnes;
    },
    working: () => [...flows].filter(({ asking, answering }) => asking && answering).length,
    async stop() {
      const closed = once(server, 'close');
      server.close();
      for (const { sockets } of flows) for (const socket of sockets) socket.destroy();
      await closed;
    },
  };
}
