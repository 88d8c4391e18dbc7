import pg from 'pg';
import type { ShardBudget } from './connection-budget.ts';
import { type ConnectionOptions, type DatabaseConnection, WatchedClient } from './database-connections.ts';

/** A connection that listens on any number of channels, and is reopened when it is lost or stops answering. */

export interface ListenOptions {
  readonly connection: ConnectionOptions;
  readonly heartbeatMs: number;
  readonly onError: (error: Error) => void;
  readonly budget?: ShardBudget | undefined;
}

interface Channel {
  readonly onMessage: (payload: string) => void;
  readonly onGap: () => void;
}

export interface Listening {
  /**
   * Resolves when messages arrive, or when the database was found to be away: then they arrive once it is back. They end when
   * the result is called.
   */
  listen(channel: string, heard: Channel): Promise<() => void>;
  /** Closes the connection until `resume`, which calls each `onGap`. */
  pause(): void;
  resume(): void;
  close(): void;
}

const reconnectDelayMs = 500;
/** Messages only save time, so they can wait for a connection. */
const noneFree = new Error('the process has as many connections as it may');

export function openListening({ connection, heartbeatMs, onError, budget }: ListenOptions): Listening {
  const channels = openChannels();
  let isOff = false;
  let client: WatchedClient | undefined;
  let opening: Promise<WatchedClient> | undefined;
  let timer: NodeJS.Timeout | undefined;

  async function connect(): Promise<WatchedClient> {
    if (budget && !budget.mayListen()) throw noneFree;
    const next = new WatchedClient(connection);
    client = next;
    const closed = budget?.opened('listening');
    next.socket.once('close', () => closed?.());
    next.on('error', (error) => isOff || onError(error));
    next.on('notification', ({ channel, payload = '' }) => channels.hear(channel, payload));
    next.on('end', () => {
      if (next === client) retryLater();
    });
    await next.connect();
    for (const channel of channels.names()) await listenOn(next, channel);
    return next;
  }

  function open(): Promise<WatchedClient> {
    const next = connect();
    opening = next;
    next.catch(() => {
      if (opening === next) retryLater();
    });
    return next;
  }

  function retryLater(): void {
    if (isOff) return;
    clearTimeout(timer);
    timer = setTimeout(goOn, reconnectDelayMs).unref();
  }

  function goOn(): void {
    open().then(channels.noteGap, () => undefined);
  }

  function stop(): void {
    isOff = true;
    clearTimeout(timer);
    opening = undefined;
    client?.cut();
    client = undefined;
  }

  const heartbeat = checkRegularly(() => client, heartbeatMs);

  return {
    async listen(channel, heard) {
      const isKnown = channels.names().includes(channel);
      const end = channels.add(channel, heard);
      if (isOff) return end;
      try {
        const isOpen = opening !== undefined;
        const on = await (opening ?? open());
        // A connection that is opened listens on the channels that it finds.
        if (isOpen && !isKnown) await listenOn(on, channel);
      } catch (error) {
        // A database that is away right now is no reason to stay without its messages for ever.
        if (error !== noneFree) onError(error as Error);
      }
      return end;
    },
    pause: stop,
    resume() {
      if (!isOff) return;
      isOff = false;
      if (channels.names().length > 0) goOn();
    },
    close() {
      clearInterval(heartbeat);
      stop();
    },
  };
}

const listenOn = (on: WatchedClient, channel: string): Promise<unknown> =>
  on.query(`LISTEN ${pg.escapeIdentifier(channel)}`);

/** Who listens on which channel. A channel stays known, because its connection still listens. */
function openChannels() {
  const channels = new Map<string, Channel[]>();
  const listenersOf = (channel: string): Channel[] => channels.get(channel) ?? [];
  return {
    names: (): string[] => [...channels.keys()],
    hear(channel: string, payload: string): void {
      for (const { onMessage } of listenersOf(channel)) onMessage(payload);
    },
    noteGap(): void {
      for (const { onGap } of [...channels.values()].flat()) onGap();
    },
    add(channel: string, heard: Channel): () => void {
      channels.set(channel, [...listenersOf(channel), heard]);
      return () => {
        channels.set(
          channel,
          listenersOf(channel).filter((other) => other !== heard),
        );
      };
    },
  };
}

/**
 * A listener sends nothing by itself, so it would never notice a dead network. Without an answer to the heartbeat the connection
 * is closed.
 */
const checkRegularly = (client: () => WatchedClient | undefined, heartbeatMs: number): NodeJS.Timeout =>
  setInterval(() => {
    const watched = client();
    const question = (watched as DatabaseConnection | undefined)?.query({
      text: 'SELECT 1',
      query_timeout: heartbeatMs,
    });
    question?.catch(() => watched?.cut());
  }, heartbeatMs).unref();
