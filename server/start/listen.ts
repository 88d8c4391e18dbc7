import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import type { FastifyInstance } from 'fastify';
import { errorCode } from '../platform/error-code.ts';

/** A problem of the environment that an operator can fix. */
export class StartError extends Error {}

/**
 * Connections that wait until the process accepts them, as far as the system allows. With Node's default of 511, the system drops further
 * connections of a burst, and their clients try again after a second or three.
 */
const backlog = 4_096;

export async function listenOrExplain(
  app: FastifyInstance,
  host: string,
  port: number,
  setting: string,
): Promise<void> {
  await app
    .listen({ host, port, backlog })
    .catch((error: unknown) => explainListen(error, `${host}, ${setting} ${port}`));
}

function explainListen(error: unknown, address: string): never {
  const code = errorCode(error) ?? '';
  if (!['EADDRINUSE', 'EACCES', 'EADDRNOTAVAIL', 'ENOTFOUND', 'EAI_AGAIN', 'EAFNOSUPPORT'].includes(code)) throw error;
  throw new StartError(`Cannot listen on HOST ${address} (${code}). Choose another host or port.`);
}

/** The share of the shutdown time for running requests; the rest is for the clean-up. */
export const finishingShare = 0.7;

export async function closeWithin(app: FastifyInstance, ms: number): Promise<void> {
  const timer = setTimeout(() => app.server.closeAllConnections(), ms);
  await app.close();
  clearTimeout(timer);
}

export async function freePort(host: string): Promise<number> {
  const server = createServer().listen(0, host);
  await once(server, 'listening').catch((error: unknown) => explainListen(error, host));
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}
