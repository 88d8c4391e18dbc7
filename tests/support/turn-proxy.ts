import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

/** A network to the database that counts round trips: what is sent before anything is answered is one turn. */
export interface TurnProxy {
  through(connectionString: string): string;
  /** Returns what was sent in each turn, on the connection that sent this text, from there to its commit. */
  turnsOf(text: string): string[];
  stop(): Promise<void>;
}

interface Tunnel {
  readonly sockets: readonly Socket[];
  readonly turns: string[];
  isAnswered: boolean;
}

export async function startTurnProxy(target: string): Promise<TurnProxy> {
  const { hostname, port: targetPort } = new URL(target);
  const tunnels: Tunnel[] = [];
  const server = createServer((inner) => {
    const outer = connect(Number(targetPort), hostname);
    const tunnel: Tunnel = { sockets: [inner, outer], turns: [], isAnswered: true };
    tunnels.push(tunnel);
    inner.on('data', (chunk) => {
      const more = tunnel.isAnswered ? '' : (tunnel.turns.pop() ?? '');
      tunnel.turns.push(more + chunk.toString('latin1'));
      tunnel.isAnswered = false;
      outer.write(chunk);
    });
    outer.on('data', (chunk) => {
      tunnel.isAnswered = true;
      inner.write(chunk);
    });
    for (const [one, other] of [
      [inner, outer],
      [outer, inner],
    ] as const) {
      one.on('error', () => undefined);
      one.on('close', () => other.destroy());
    }
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    through(connectionString) {
      const url = new URL(connectionString);
      url.hostname = '127.0.0.1';
      url.port = String(port);
      return url.href;
    },
    turnsOf(text) {
      const { turns = [] } = tunnels.find((tunnel) => tunnel.turns.some((turn) => turn.includes(text))) ?? {};
      const from = turns.slice(turns.findIndex((turn) => turn.includes(text)));
      return from.slice(0, from.findIndex((turn) => turn.includes('COMMIT')) + 1);
    },
    async stop() {
      const closed = once(server, 'close');
      server.close();
      for (const { sockets } of tunnels) for (const socket of sockets) socket.destroy();
      await closed;
    },
  };
}
