import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { listen } from './listen.ts';

/** A proxy between a client and the service that loses, delays and replaces answers. */

/**
 * `drop_request`: the request never reaches the service. `drop_answer`: the service executes the request, and its
 * answer is lost. `cut_answer`: half of the answer arrives. A custom answer: the request never reaches the service.
 */
export type Mishap =
  | 'none'
  | 'drop_request'
  | 'drop_answer'
  | 'cut_answer'
  | { readonly delayMs: number }
  | { readonly status: number; readonly headers?: Record<string, string>; readonly body?: string };

export interface FlakyProxy {
  readonly url: string;
  /** The faults of the next requests, in order; after the last one no faults occur. */
  readonly mishaps: Mishap[];
  readonly seen: { readonly atMs: number; readonly key: string | undefined }[];
  stop(): Promise<void>;
}

export async function startFlakyProxy(target: string): Promise<FlakyProxy> {
  const mishaps: Mishap[] = [];
  const seen: { atMs: number; key: string | undefined }[] = [];

  async function pass(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const mishap = mishaps.shift() ?? 'none';
    seen.push({ atMs: performance.now(), key: request.headers['x-svc-idempotency-key'] as string | undefined });
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    if (mishap === 'drop_request') return void request.socket.destroy();
    if (typeof mishap === 'object' && 'status' in mishap) {
      response.writeHead(mishap.status, mishap.headers).end(mishap.body ?? '');
      return;
    }
    if (typeof mishap === 'object') await new Promise((resolve) => setTimeout(resolve, mishap.delayMs).unref());
    const { host: _, connection: __, 'content-length': ___, ...headers } = request.headers;
    const body = Buffer.concat(chunks);
    const answer = await fetch(target + request.url, {
      method: request.method ?? 'GET',
      // `fetch` would decompress the answer, and leave the header that says it is compressed.
      headers: { ...(headers as Record<string, string>), 'accept-encoding': 'identity' },
      ...(body.length > 0 && { body }),
    });
    const text = await answer.text();
    if (mishap === 'drop_answer') return void request.socket.destroy();
    response.writeHead(answer.status, Object.fromEntries(answer.headers));
    if (mishap !== 'cut_answer') return void response.end(text);
    response.write(text.slice(0, text.length / 2), () => request.socket.destroy());
  }

  const server = createServer((request, response) => {
    pass(request, response).catch(() => request.socket.destroy());
  });
  return {
    url: await listen(server),
    mishaps,
    seen,
    async stop() {
      server.closeAllConnections();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
}
