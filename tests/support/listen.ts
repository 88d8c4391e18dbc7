import { once } from 'node:events';
import { type AddressInfo, createServer, type Server } from 'node:net';

/** Servers of tests on this machine. Returns the URL. */
export async function listen(server: Server, port = 0): Promise<string> {
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** A URL at which nothing listens. */
export async function unusedUrl(): Promise<string> {
  const server = createServer();
  const url = await listen(server);
  server.close();
  await once(server, 'close');
  return url;
}

export const freePort = async (): Promise<number> => Number(new URL(await unusedUrl()).port);
