import type { TLSSocket } from 'node:tls';
import { type Answer, createAnswerReader, keepMaxMs } from './answer.ts';
import { ConnectionFailed } from './sockets.ts';

/** One request, from waiting for a connection to its answer. */
export interface Exchange {
  /** The whole request. */
  readonly request: { readonly text: string; readonly encoding: 'latin1' | 'utf8' };
  readonly answerBytesMax: number;
  /** Whether it needs no answer any more. */
  isOver: boolean;
  /** Closes the connection that carries it. */
  cancel: (() => void) | undefined;
  answered(answer: Answer): void;
  failed(error: Error): void;
}

/** A connection that carries one request at a time, over HTTP/1.1. */
export interface Connection {
  send(exchange: Exchange): void;
  /** Until when it may be used, while it is idle. */
  keptUntilMs(): number;
  destroy(error: Error): void;
}

export interface ConnectionEvents {
  /** It is established. */
  readonly onReady: () => void;
  /** It can carry the next request. */
  readonly onFree: () => void;
  /** It was not established. */
  readonly onRefused: (error: Error) => void;
  readonly onClosed: () => void;
}

export function openConnection(
  open: (onBytes: (bytes: Buffer) => void) => TLSSocket,
  /** Throws if the connected address must not be used. */
  check: (remoteAddress: string) => void,
  { onReady, onFree, onRefused, onClosed }: ConnectionEvents,
): Connection {
  const reader = createAnswerReader();
  let isReady = false;
  let current: Exchange | undefined;
  let failure: Error | undefined;
  let keptUntilMs = 0;

  /** A failure leaves the stream of bytes in an unknown state, so it ends the connection. */
  function orDestroy(work: () => void): void {
    try {
      work();
    } catch (error) {
      socket.destroy(error as Error);
    }
  }

  function settle(answer: Answer | undefined): void {
    if (!answer || !current) return;
    const exchange = current;
    current = undefined;
    exchange.answered(answer);
    if (answer.keepMs === 0) {
      socket.destroy();
      return;
    }
    keptUntilMs = performance.now() + answer.keepMs;
    onFree();
  }

  const socket = open((bytes) =>
    orDestroy(() => {
      if (!current) throw new ConnectionFailed('UNEXPECTED');
      settle(reader.read(bytes));
    }),
  );
  const cancel = (): void => void socket.destroy(new ConnectionFailed('CANCELLED'));

  function end(): void {
    const error = failure ?? new ConnectionFailed('CLOSED');
    if (!isReady) onRefused(error);
    current?.failed(error);
    current = undefined;
    onClosed();
  }

  socket.once('secureConnect', () =>
    orDestroy(() => {
      check(socket.remoteAddress ?? '');
      isReady = true;
      keptUntilMs = performance.now() + keepMaxMs;
      onReady();
      onFree();
    }),
  );
  socket.on('error', (error) => {
    keptUntilMs = 0;
    failure ??= error;
  });
  socket.once('end', () => {
    keptUntilMs = 0;
    settle(current && reader.end());
  });
  socket.once('close', end);

  return {
    send(exchange) {
      current = exchange;
      exchange.cancel = cancel;
      reader.begin(exchange.answerBytesMax);
      socket.write(exchange.request.text, exchange.request.encoding);
    },
    keptUntilMs: () => keptUntilMs,
    destroy: (error) => void socket.destroy(error),
  };
}
