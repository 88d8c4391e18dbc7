import pg from 'pg';
import { type ConnectionOptions, type DatabaseConnection, WatchedClient } from './database-connections.ts';

/** A connection that listens, and is reopened when it is lost or stops answering. */

export interface ListenOptions {
  readonly connection: ConnectionOptions;
  readonly heartbeatMs: number;
  readonly channel: string;
  readonly onMessage: (payload: string) => void;
  readonly onGap: () => void;
  readonly onError: (error: Error) => void;
}

const reconnectDelayMs = 500;

export async function keepListening(options: ListenOptions): Promise<{ close(): void }> {
  const { connection, heartbeatMs, channel, onMessage, onGap, onError } = options;
  let closed = false;
  let client: WatchedClient | undefined;
  let timer: NodeJS.Timeout | undefined;

  async function connect(): Promise<void> {
    const next = new WatchedClient(connection);
    client = next;
    next.on('error', onError);
    next.on('notification', (message) => onMessage(message.payload ?? ''));
    next.on('end', retryLater);
    await next.connect();
    await next.query(`LISTEN ${pg.escapeIdentifier(channel)}`);
  }

  function retryLater(): void {
    if (closed) return;
    clearTimeout(timer);
    timer = setTimeout(() => {
      connect().then(onGap, retryLater);
    }, reconnectDelayMs).unref();
  }

  // A listener sends nothing by itself, so it would never notice a dead network. Without an answer to the heartbeat
  // the connection is closed.
  const heartbeat = setInterval(() => {
    const watched = client;
    const question = (watched as DatabaseConnection | undefined)?.query({
      text: 'SELECT 1',
      query_timeout: heartbeatMs,
    });
    question?.catch(() => watched?.cut());
  }, heartbeatMs).unref();

  function close(): void {
    closed = true;
    clearTimeout(timer);
    clearInterval(heartbeat);
    client?.cut();
  }

  // A database that is away right now is no reason to stay without its messages for ever.
  await connect().catch((error: Error) => {
    onError(error);
    retryLater();
  });
  return { close };
}
