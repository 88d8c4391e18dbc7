import { Agent, request as httpRequest } from 'node:http';

const agent = new Agent({ keepAlive: true });

/** Like fetch, in half the time. */
export function exchange(
  url: string,
  method: string,
  payload: string | Buffer | undefined,
  headers: Record<string, string>,
): Promise<{ status: number; headers: Headers; text: string }> {
  return new Promise((resolve, reject) => {
    const length = payload === undefined ? {} : { 'content-length': String(Buffer.byteLength(payload)) };
    const request = httpRequest(url, { method, headers: { ...length, ...headers }, agent });
    let answered = false;
    request.on('error', (error: NodeJS.ErrnoException) => {
      // A reused connection may have been closed in the meantime; a new one has not.
      const again = request.reusedSocket && !answered && error.code === 'ECONNRESET';
      if (again) exchange(url, method, payload, headers).then(resolve, reject);
      else reject(error);
    });
    request.on('response', (response) => {
      answered = true;
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('error', reject);
      response.on('end', () =>
        resolve({
          status: response.statusCode ?? 0,
          headers: headersOf(response.rawHeaders),
          text: Buffer.concat(chunks).toString(),
        }),
      );
    });
    request.end(payload);
  });
}

function headersOf(raw: readonly string[]): Headers {
  const headers = new Headers();
  for (let at = 0; at < raw.length; at += 2) headers.append(raw[at] ?? '', raw[at + 1] ?? '');
  return headers;
}

export function parseReply(text: string): Record<string, never> {
  try {
    return JSON.parse(text);
  } catch {
    return {};
  }
}
