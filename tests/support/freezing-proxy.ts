import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

/**
 * A network between the service and its database that stops carrying packets, as a firewall or the failover of a
 * managed database does: no connection is closed, and nothing arrives.
 */

export interface FreezingProxy {
  readonly port: number;
  /** Returns the URL of the database through this proxy. */
  through(connectionString: string): string;
  /** Current connections stay open, but carry nothing any more. */
  freeze(): void;
  /** Requests on current connections arrive, but no answer returns: statements run, and their results are lost. */
  loseAnswers(): void;
  /**
   * The same from the next request that contains this text. Idle connections are replaced when they do not answer, so
   * on a slow machine the request could use a new one.
   */
  loseAnswersFrom(text: string): void;
  /**
   * Loses the next answer that contains this text, after its commit, and closes its connection. Resolves when it has
   * happened.
   */
  cutAnswer(text: string): Promise<void>;
  /** Whether new connections work; otherwise they are accepted, but nothing is answered. */
  accept(newOnes: boolean): void;
  /** The number of connections that work. */
  working(): number;
  stop(): Promise<void>;
}

/** The last message that PostgreSQL sends outside of a transaction. */
const readyForQuery = Buffer.from('Z\0\0\0\x05I', 'latin1');

interface Tunnel {
  readonly sockets: readonly Socket[];
  asking: boolean;
  answering: boolean;
}

export async function startFreezingProxy(target: string): Promise<FreezingProxy> {
  const { hostname, port: targetPort } = new URL(target);
  const tunnels = new Set<Tunnel>();
  let accepting = true;
  let losingFrom: string | undefined;
  let awaited: { readonly text: string; readonly done: () => void } | undefined;

  function loseAnswers(): void {
    for (const tunnel of tunnels) tunnel.answering = false;
  }

  const server = createServer((inner) => {
    const outer = connect(Number(targetPort), hostname);
    const tunnel: Tunnel = { sockets: [inner, outer], asking: accepting, answering: accepting };
    tunnels.add(tunnel);
    inner.on('data', (chunk) => {
      if (losingFrom !== undefined && chunk.includes(losingFrom)) {
        losingFrom = undefined;
        loseAnswers();
      }
      if (tunnel.asking) outer.write(chunk);
    });
    let cut: (() => void) | undefined;
    outer.on('data', (chunk) => {
      if (awaited && chunk.includes(awaited.text)) {
        cut = awaited.done;
        awaited = undefined;
      }
      if (!cut) return tunnel.answering && inner.write(chunk);
      // The statement is committed only now.
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
        // Closing one side is a packet too, so it does not get through either.
        if (tunnel.asking && tunnel.answering) other.destroy();
        if (other.destroyed) tunnels.delete(tunnel);
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
      for (const tunnel of tunnels) Object.assign(tunnel, { asking: false, answering: false });
    },
    loseAnswers,
    loseAnswersFrom(text) {
      losingFrom = text;
    },
    cutAnswer(text) {
      const { promise, resolve } = Promise.withResolvers<void>();
      awaited = { text, done: resolve };
      return promise;
    },
    accept(newOnes) {
      accepting = newOnes;
    },
    working: () => [...tunnels].filter(({ asking, answering }) => asking && answering).length,
    async stop() {
      const closed = once(server, 'close');
      server.close();
      for (const { sockets } of tunnels) for (const socket of sockets) socket.destroy();
      await closed;
    },
  };
}
