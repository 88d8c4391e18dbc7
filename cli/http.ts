import type { IncomingMessage } from 'node:http';
import { createRequire } from 'node:module';
import { text as readAll } from 'node:stream/consumers';

/**
 * Sends a request. Loading fetch takes 50 ms or more of each command. The modules are required, because importing node:http
 * as an ES module loads fetch too.
 */
const builtIn = createRequire(import.meta.url);
const clients = {
  'http:': () => builtIn('node:http') as typeof import('node:http'),
  'https:': () => builtIn('node:https') as typeof import('node:https'),
};

interface Message {
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string | FormData;
  readonly signal?: AbortSignal;
}

export interface Reply {
  readonly status: number;
  readonly headers: IncomingMessage['headers'];
  readonly text: string;
}

/** The service answers long polls within a minute. */
const silenceMaxMs = 300_000;

export async function send(address: string, { method, headers, body, signal }: Message): Promise<Reply> {
  const url = new URL(address);
  const { content, contentType } = await encoded(body);
  const length = content === undefined ? undefined : String(Buffer.byteLength(content));
  const sent = {
    ...headers,
    ...(contentType && { 'content-type': contentType }),
    ...(length && { 'content-length': length }),
  };
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    const request = clients[url.protocol as keyof typeof clients]().request(url, {
      method,
      headers: sent,
      timeout: silenceMaxMs,
      ...(signal && { signal }),
    });
    request.on('response', resolve).on('error', reject);
    request.on('timeout', () => request.destroy(new Error(`no data for ${silenceMaxMs / 1_000} s`)));
    request.end(content);
  });
  return { status: response.statusCode ?? 0, headers: response.headers, text: await readAll(response) };
}

async function encoded(
  body: Message['body'],
): Promise<{ readonly content: string | Buffer | undefined; readonly contentType?: string }> {
  if (!(body instanceof Object)) return { content: body };
  const form = new Response(body);
  return { content: Buffer.from(await form.arrayBuffer()), contentType: form.headers.get('content-type') ?? '' };
}
