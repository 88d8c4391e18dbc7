import { readFileSync } from 'node:fs';
import { createServer, type Server } from 'node:https';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A receiver of webhooks on a real TLS socket. */

const certificate = (name: string): string => readFileSync(new URL(`certificates/${name}`, import.meta.url), 'utf8');

export const testAuthority = certificate('ca.pem');

export interface Received {
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
  readonly path: string;
  readonly atMs: number;
  readonly event: Record<string, any>;
}

export interface Receiver {
  readonly url: string;
  readonly received: Received[];
  readonly server: Server;
  /** Waits until this many have arrived. */
  count(wanted: number, withinMs?: number): Promise<void>;
  /** What it does from now on; a status is answered at once. */
  behave(how: number | ((request: Received, response: ServerResponse, raw: IncomingMessage) => void)): void;
  stop(): Promise<void>;
}

export async function startReceiver(
  how: number | ((request: Received, response: ServerResponse, raw: IncomingMessage) => void) = 200,
  tls: { key: string; cert: string } = { key: certificate('receiver.key'), cert: certificate('receiver.pem') },
): Promise<Receiver> {
  const received: Received[] = [];
  let behaviour = how;
  let arrived: () => void = () => undefined;
  const server = createServer(tls, (request, response) => {
    let body = '';
    request.setEncoding('utf8');
    request.on('data', (chunk: string) => {
      body += chunk;
    });
    request.on('end', () => {
      const one = {
        headers: request.headers,
        body,
        path: request.url ?? '',
        atMs: Date.now(),
        event: JSON.parse(body || '{}') as Record<string, any>,
      };
      received.push(one);
      arrived();
      if (typeof behaviour === 'number') response.writeHead(behaviour).end('ok');
      else behaviour(one, response, request);
    });
  });
  server.on('clientError', () => undefined);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `https://localhost:${port}/hook`,
    received,
    server,
    async count(wanted, withinMs = 10_000) {
      const deadlineMs = Date.now() + withinMs;
      while (received.length < wanted) {
        const leftMs = deadlineMs - Date.now();
        if (leftMs <= 0) throw new Error(`${received.length} of ${wanted} arrived`);
        await new Promise<void>((resolve) => {
          const timer = setTimeout(resolve, Math.min(leftMs, 100));
          arrived = () => {
            clearTimeout(timer);
            resolve();
          };
        });
      }
    },
    behave(next) {
      behaviour = next;
    },
    async stop() {
      server.closeAllConnections();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
}
