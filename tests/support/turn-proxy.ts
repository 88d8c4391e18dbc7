import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

/** A network to the database that counts round trips: what is sent before anything is answered is one turn. */
export interface TurnProxy {
  through(connectionString: string): string;
  /** Returns what was sent in each turn, on the connection that sent this text, from there to its commit. */
  turnsOf(text: string): string[];
  stop(): Promise<void>;
}

interface Flow {
  readonly sockets: readonly Socket[];
  readonly turns: string[];
  isAnswered: boolean;
}

export async function startTurnProxy(target: string): Promise<TurnProxy> {
  const { hostname, port: targetPort } = new URL(target);
  const flows: Flow[] = [];
  const server = createServer((inner) => {
    const outer = connect(Number(targetPort), hostname);
    const flow: Flow = { sockets: [inner, outer], turns: [], isAnswered: true };
    flows.push(flow);
    inner.on('data', (chunk) => {
      const more = flow.isAnswered ? '' : (flow.turns.pop() ?? '');
      flow.turns.push(more + chunk.toString('latin1'));
      flow.isAnswered = false;
      outer.write(chunk);
    });
    outer.on('data', (chunk) => {
      flow.isAnswered = true;
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
      const { turns = [] } = flows.find((flow) => flow.turns.some((turn) => turn.includes(text))) ?? {};
      const from = turns.slice(turns.findIndex((turn) => turn.includes(text)));
      return from.slice(0, from.findIndex((turn) => turn.includes('COMMIT')) + 1);
    },
    async stop() {
      const closed = once(server, 'close');
      server.close();
      for (const { sockets } of flows) for (const socket of sockets) socket.destroy();
      await closed;
    },
  };
}
