import type { FastifyInstance, FastifyReply, FastifyRequest, InjectOptions } from 'fastify';
import type { ApiReply, ApiRequest } from '../agents/call.ts';
import { ApiError } from '../errors.ts';

/**
 * `/mcp`: the tools for agents over HTTP. Each message stands alone, so no process keeps a session. A tool calls the API of
 * this process as its caller would: with their key and from their address, so permissions, limits and logs are the same.
 */
export function mountAgents(app: FastifyInstance, baseUrl: string): void {
  const { origin } = new URL(baseUrl);
  app.post('/mcp', async (request, reply) => {
    refuseOtherOrigins(request, origin);
    const authorization = keyOf(request);
    const call = (wanted: ApiRequest): Promise<ApiReply> => inject(app, request, authorization, wanted);
    const allowWrites = mayWrite(request, authorization);
    // Loaded with the first message: most installations start without one.
    const { createAgentHandler } = await import('../agents/server.ts');
    const handler = createAgentHandler({ baseUrl, allowWrites, call });
    const answer = await handler.fetch(webRequest(request, baseUrl), { parsedBody: request.body });
    return send(reply, answer);
  });
}

/** A page of another site must not use the tools through a browser that reaches this service. */
function refuseOtherOrigins({ headers }: FastifyRequest, own: string): void {
  if (headers.origin === undefined || headers.origin === own) return;
  throw new ApiError('insufficient_permissions', 'Pages of other sites cannot use /mcp.', { param: 'Origin' });
}

function keyOf({ headers }: FastifyRequest): string {
  const { authorization } = headers;
  if (authorization?.startsWith('Bearer ')) return authorization;
  throw new ApiError('missing_api_key', 'Send a secret key in the header: Authorization: Bearer svc_test_sk_…');
}

/** The client asks for them in its own configuration. A live key never gets them. */
const mayWrite = ({ headers }: FastifyRequest, authorization: string): boolean =>
  headers['svc-allow-writes'] === 'sandbox' && authorization.startsWith('Bearer svc_test_sk_');

async function inject(
  app: FastifyInstance,
  { ip }: FastifyRequest,
  authorization: string,
  { method, path, body, idempotencyKey }: ApiRequest,
): Promise<ApiReply> {
  const options: InjectOptions = {
    method,
    url: path,
    remoteAddress: ip,
    headers: { authorization, ...(idempotencyKey && { 'x-svc-idempotency-key': idempotencyKey }) },
    ...(body !== undefined && { payload: body as object }),
  };
  const answer = await app.inject(options);
  const isJson = String(answer.headers['content-type']).includes('json');
  return { status: answer.statusCode, body: isJson ? answer.json() : answer.body };
}

function webRequest({ headers, url, body }: FastifyRequest, baseUrl: string): Request {
  const named = Object.entries(headers).filter((entry): entry is [string, string] => typeof entry[1] === 'string');
  return new Request(new URL(url, baseUrl), {
    method: 'POST',
    headers: named.filter(([name]) => !['content-length', 'connection', 'transfer-encoding'].includes(name)),
    body: JSON.stringify(body ?? null),
  });
}

async function send(reply: FastifyReply, answer: Response): Promise<FastifyReply> {
  void reply.code(answer.status);
  for (const name of ['content-type', 'mcp-session-id', 'allow']) {
    const value = answer.headers.get(name);
    if (value !== null) void reply.header(name, value);
  }
  return reply.send(await answer.text());
}
