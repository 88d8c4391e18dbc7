import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

/** The least that a refusal can cost on Node: its HTTP server, one fixed answer, and nothing else. */

const body = JSON.stringify({ error: { type: 'api_error', code: 'overloaded', message: 'x'.repeat(120) } });
const headers = {
  'Content-Type': 'application/json; charset=utf-8',
  'Content-Length': body.length,
  'Cache-Control': 'no-store',
  'X-Content-Type-Options': 'nosniff',
  'SVC-Request-Id': '00000000000000000000',
  'SVC-Version': '2026-01-01',
  'Retry-After': '1',
};

const server = createServer((_request, response) => response.writeHead(503, headers).end(body));
server.listen(0, '127.0.0.1', () => {
  const { port } = server.address() as AddressInfo;
  process.stdout.write(`{"attributes":{"url.full":"http://127.0.0.1:${port}"},"body":"ready"}\n`);
});
