import { connect, createServer, type AddressInfo, type Socket } from 'node:net';

/** Between a client and PostgreSQL: passes everything on, until it is asked to lose one answer. */

export interface CuttingProxy {
  /** The connection string of a database, leading through here. */
  through(connectionString: string): string;
  /** Loses the next answer that has this text in it, and with it the connection. Fulfilled when that has happened. */
  cutAnswer(text: string): Promise<void>;
  stop(): Promise<void>;
}

export async function startCuttingProxy(connectionString: string): Promise<CuttingProxy> {
  const target = new URL(connectionString);
  const sockets = new Set<Socket>();
  let awaited: { readonly text: string; readonly done: () => void } | undefined;

  const server = createServer((client) => {
    const database = connect(Number(target.port || 5432), target.hostname);
    for (const socket of [client, database]) {
      sockets.add(socket);
      socket
        .on('error', () => undefined)
        .on('close', () => {
          sockets.delete(socket);
          client.destroy();
          database.destroy();
        });
    }
    client.on('data', (bytes) => database.write(bytes));
    database.on('data', (bytes) => {
      if (awaited && bytes.includes(awaited.text)) {
        // The text is in the rows of the answer, and those leave PostgreSQL after the commit.
        awaited.done();
        awaited = undefined;
        client.destroy();
      } else client.write(bytes);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;

  return {
    through(text) {
      const url = new URL(text);
      url.host = `127.0.0.1:${port}`;
      return url.href;
    },
    cutAnswer(text) {
      const { promise, resolve } = Promise.withResolvers<void>();
      awaited = { text, done: resolve };
      return promise;
    },
    async stop() {
      for (const socket of sockets) socket.destroy();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
}
