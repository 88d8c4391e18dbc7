import { createServer, type Server } from 'node:http';
import type { RecordedCall } from '../server/vault/processors/story.ts';

/** A processor that answers as one did when it was recorded, call by call. */
export function openReplay(): { readonly server: Server; expect(call: RecordedCall): void; left(): number } {
  let answers: RecordedCall['exchanges'][number][] = [];
  const server = createServer((request, response) => {
    request.resume();
    request.on('end', () => {
      // Two requests of a call may be sent at once, so the method and the last part of the path choose.
      const path = new URL(request.url ?? '/', 'http://replay').pathname;
      const index = answers.findIndex((one) => one.method === request.method && path.endsWith(`/${one.path}`));
      const [found] = index === -1 ? [] : answers.splice(index, 1);
      if (!found) {
        response.writeHead(599, { 'content-type': 'text/plain' });
        return response.end('this request was not recorded');
      }
      if (found.status === null) return request.socket.destroy();
      response.writeHead(found.status, { 'content-type': found.type });
      return response.end(found.answer);
    });
  });
  return {
    server,
    expect: ({ exchanges }) => {
      answers = [...exchanges];
    },
    left: () => answers.length,
  };
}
