import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

/** What PostgreSQL says when an administrator ends a connection; sent right behind the end of an answer. */
const fatal = Buffer.from('SFATAL\0VFATAL\0C57P01\0Mterminating connection due to administrator command\0\0');
const fatalMessage = Buffer.concat([Buffer.from('E'), Buffer.from([0, 0, 0, fatal.length + 4]), fatal]);
const endsAnAnswer = (chunk: Buffer): boolean => /Z\0\0\0\x05[ITE]$/.test(chunk.toString('latin1'));

export interface Gate {
  readonly connectionString: string;
  /** Another URL of the same server, through the gate. */
  through(connectionString: string): string;
  /** Every connection is cut and new ones are refused. */
  shut(): Promise<void>;
  open(): Promise<void>;
  /** Every answer of the database is followed by its farewell, in the same packet. */
  endAfterEachAnswer(on: boolean): void;
}

/** A door before the database. */
export async function gateTo(connectionString: string): Promise<Gate> {
  const target = new URL(connectionString);
  const sockets = new Set<Socket>();
  let ending = false;
  const server = createServer((inner) => {
    const outer = connect(Number(target.port), target.hostname);
    inner.on('data', (chunk) => outer.write(chunk));
    outer.on('data', (chunk: Buffer) => {
      if (ending && endsAnAnswer(chunk)) inner.end(Buffer.concat([chunk, fatalMessage]));
      else inner.write(chunk);
    });
    for (const [one, other] of [
      [inner, outer],
      [outer, inner],
    ] as const) {
      sockets.add(one);
      one.on('error', () => other.destroy()).on('close', () => other.destroy());
    }
  });
  const open = async (port: number): Promise<void> => {
    server.listen(port, '127.0.0.1');
    await once(server, 'listening');
  };
  await open(0);
  const { port } = server.address() as AddressInfo;
  const through = (another: string): string => Object.assign(new URL(another), { port: String(port) }).href;
  return {
    connectionString: through(connectionString),
    through,
    async shut() {
      const closed = once(server, 'close');
      server.close();
      for (const socket of sockets) socket.destroy();
      sockets.clear();
      await closed;
    },
    open: () => open(port),
    endAfterEachAnswer(on) {
      ending = on;
    },
  };
}
