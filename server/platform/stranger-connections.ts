import type { Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { limits } from '../limits.ts';
import { addressBucket } from './addresses.ts';

/**
 * Bounds the connections of callers that are not known yet: anyone who reaches the port can open connections and send
 * nothing. Those of one address are limited in number, and all of them in the time they may take to send a request.
 */
export interface StrangerConnections {
  /** The caller of this connection is known, so it no longer counts. */
  know(socket: Socket): void;
}

export interface StrangerOptions {
  /** Whether this is the address of a proxy, through which many callers share connections. */
  readonly isProxy?: (address: string) => boolean;
  readonly connectionsMax?: number;
}

/** Options for `createServer`: when the headers of a request must be complete, and how often this is checked. */
export const strangerTimeouts = { headersTimeout: limits.strangers.seconds * 1000, connectionsCheckingInterval: 1_000 };

/** A connection that is younger may just not have had its turn. */
const graceMs = 1_000;

type OpenSockets = Map<Socket, number>;

export function boundStrangers(server: Server, options: StrangerOptions = {}): StrangerConnections {
  const { isProxy = () => false, connectionsMax = limits.strangers.connectionsOfAddress } = options;
  const byAddress = new Map<string, OpenSockets>();
  const ownerOf = new WeakMap<Socket, OpenSockets>();

  function forget(socket: Socket): void {
    ownerOf.get(socket)?.delete(socket);
    ownerOf.delete(socket);
  }

  server.on('connection', (socket: Socket) => {
    const { remoteAddress = '' } = socket;
    if (isProxy(remoteAddress)) return;
    const bucket = addressBucket(remoteAddress);
    const opened: OpenSockets = byAddress.get(bucket) ?? new Map();
    byAddress.set(bucket, opened);
    ownerOf.set(socket, opened);
    const nowMs = performance.now();
    opened.set(socket, nowMs);
    if (opened.size > connectionsMax) oldestWaiting(opened, nowMs - graceMs)?.destroy();
    socket.once('close', () => {
      opened.delete(socket);
      if (opened.size === 0 && byAddress.get(bucket) === opened) byAddress.delete(bucket);
    });
  });
  return { know: forget };
}

/** The response to the request that the connection sends or waits for, if there is one. */
export function responseOn(socket: Socket): ServerResponse | null {
  return '_httpMessage' in socket ? (socket._httpMessage as ServerResponse | null) : null;
}

/** Returns the oldest connection whose client has nothing to expect: it is idle, or its request is incomplete. */
function oldestWaiting(opened: OpenSockets, beforeMs: number): Socket | undefined {
  for (const [socket, sinceMs] of opened) {
    if (sinceMs > beforeMs) return undefined;
    const response = responseOn(socket);
    if (!response?.req.complete) return socket;
  }
  return undefined;
}
