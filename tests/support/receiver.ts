import { readFileSync } from 'node:fs';
import { createServer, type Server } from 'node:https';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';

/** A webhook receiver on a real TLS socket. */

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
  /** The number of connections opened so far. */
  connections(): number;
  /** Waits until this many requests have arrived. */
  count(wanted: number, withinMs?: number): Promise<void>;
  /** Sets its behaviour from now on; a status is answered at once. */
  behave(how: Behaviour): void;
  stop(): Promise<void>;
}

type Behaviour = number | ((request: Received, response: ServerResponse, raw: IncomingMessage) => void);

const tls = { key: certificate('receiver.key'), cert: certificate('receiver.pem') };

/** The certificate is for `localhost` and 127.0.0.1; it does not match another address of this machine. */
export async function startReceiver(how: Behaviour = 200, address = '127.0.0.1'): Promise<Receiver> {
  const received: Received[] = [];
  let behaviour = how;
  let arrived: () => void = () => undefined;
  let connections = 0;
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
  const sockets = new Set<Socket>();
  server.on('connection', (socket: Socket) => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
  });
  server.on('secureConnection', () => {
    connections += 1;
  });
  await new Promise<void>((resolve) => server.listen(0, address, resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `https://${address === '127.0.0.1' ? 'localhost' : address}:${port}/hook`,
    received,
    server,
    connections: () => connections,
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
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      // `closeAllConnections` leaves open what is still being established.
      for (const socket of sockets) socket.destroy();
      await closed;
    },
  };
}
