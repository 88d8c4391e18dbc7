import pg from 'pg';
import { type ConnectionOptions, type DatabaseConnection, WatchedClient } from './database-connections.ts';

/** A connection that listens on any number of channels, and is reopened when it is lost or stops answering. */

export interface ListenOptions {
  readonly connection: ConnectionOptions;
  readonly heartbeatMs: number;
  readonly onError: (error: Error) => void;
}

interface Channel {
  readonly onMessage: (payload: string) => void;
  readonly onGap: () => void;
}

export interface Listening {
  /** Resolves when messages arrive, or when the database was found to be away: then they arrive once it is back. */
  listen(channel: string, heard: Channel): Promise<void>;
  close(): void;
}

const reconnectDelayMs = 500;

export function openListening({ connection, heartbeatMs, onError }: ListenOptions): Listening {
  const channels = new Map<string, Channel[]>();
  let closed = false;
  let client: WatchedClient | undefined;
  let opening: Promise<WatchedClient> | undefined;
  let timer: NodeJS.Timeout | undefined;

  async function connect(): Promise<WatchedClient> {
    const next = new WatchedClient(connection);
    client = next;
    next.on('error', onError);
    next.on('notification', ({ channel, payload = '' }) => {
      for (const { onMessage } of channels.get(channel) ?? []) onMessage(payload);
    });
    next.on('end', retryLater);
    await next.connect();
    for (const channel of channels.keys()) await listenOn(next, channel);
    return next;
  }

  const listenOn = (on: WatchedClient, channel: string): Promise<unknown> =>
    on.query(`LISTEN ${pg.escapeIdentifier(channel)}`);

  function open(): Promise<WatchedClient> {
    const next = connect();
    opening = next;
    next.catch(retryLater);
    return next;
  }

  function retryLater(): void {
    if (closed) return;
    clearTimeout(timer);
    const goOn = (): void => {
      for (const { onGap } of [...channels.values()].flat()) onGap();
    };
    timer = setTimeout(() => {
      open().then(goOn, () => undefined);
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

  return {
    async listen(channel, heard) {
      const others = channels.get(channel) ?? [];
      channels.set(channel, [...others, heard]);
      try {
        const isOpen = opening !== undefined;
        const on = await (opening ?? open());
        // A connection that is opened listens on the channels that it finds.
        if (isOpen && others.length === 0) await listenOn(on, channel);
      } catch (error) {
        // A database that is away right now is no reason to stay without its messages for ever.
        onError(error as Error);
      }
    },
    close() {
      closed = true;
      clearTimeout(timer);
      clearInterval(heartbeat);
      client?.cut();
    },
  };
}
