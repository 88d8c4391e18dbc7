import type { FastifyInstance, FastifyReply, FastifyRequest, InjectOptions } from 'fastify';
import type { ApiReply, ApiRequest } from '../agents/call.ts';
import type { createAgentHandler } from '../agents/server.ts';
import type { Config } from '../config.ts';
import { ApiError } from '../errors.ts';
import { approvalsOfKey } from '../features/agent-approvals/asking.ts';
import { approvedCallHeaders, isKeyOfAgents } from '../http/agent-calls.ts';
import type { Access, ApiKeyDirectory } from '../http/authenticate.ts';
import type { Clock } from '../platform/clock.ts';
import type { AppShards } from '../shard.ts';

interface AgentDependencies {
  readonly baseUrl: string;
  readonly directory: Pick<ApiKeyDirectory, 'find'>;
  readonly shards: Pick<AppShards, 'of'>;
  readonly clock: Clock;
  readonly config: Pick<Config, 'SVC_AGENT_APPROVALS_PER_DAY'>;
}

/**
 * `/mcp`: the tools for agents over HTTP. Each message stands alone, so no process keeps a session. A tool calls the API of
 * this process as its caller would: with their key and from their address, so permissions, limits and logs are the same.
 */
export function mountAgents(app: FastifyInstance, dependencies: AgentDependencies): void {
  const { baseUrl, directory } = dependencies;
  const { origin } = new URL(baseUrl);
  app.post('/mcp', async (request, reply) => {
    refuseOtherOrigins(request, origin);
    const key = keyOf(request);
    const call = (wanted: ApiRequest): Promise<ApiReply> => inject(app, request, key, wanted);
    const found = await directory.find(key, request.ip);
    // The tools call the API with the key, which says what is wrong with it.
    const rights = typeof found === 'string' ? { allowWrites: false } : rightsOf(found, request, dependencies);
    // Loaded with the first message: most installations start without one.
    const { createAgentHandler } = await import('../agents/server.ts');
    const handler = createAgentHandler({ baseUrl, call, ...rights });
    const answer = await handler.fetch(webRequest(request, baseUrl), { parsedBody: request.body });
    return send(reply, answer);
  });
}

type Rights = Pick<Parameters<typeof createAgentHandler>[0], 'allowWrites' | 'live'>;

/** Changes are off unless the key was given them. In a sandbox, `svc mcp --allow-writes` asks for them too. */
function rightsOf({ key, company }: Access, { headers }: FastifyRequest, dependencies: AgentDependencies): Rights {
  const { shards, clock, config } = dependencies;
  const perDay = config.SVC_AGENT_APPROVALS_PER_DAY;
  const isOfAgents = isKeyOfAgents(key);
  if (company.mode === 'sandbox') return { allowWrites: isOfAgents || headers['svc-allow-writes'] === 'sandbox' };
  if (!isOfAgents || perDay === 0) return { allowWrites: false };
  const approvals = approvalsOfKey({ db: shards.of(company).db, company, key, perDay, nowMs: clock.nowMs() });
  return { allowWrites: false, live: { approvals, permissions: key.permissions } };
}

/** A page of another site must not use the tools through a browser that reaches this service. */
function refuseOtherOrigins({ headers }: FastifyRequest, own: string): void {
  if (headers.origin === undefined || headers.origin === own) return;
  throw new ApiError('insufficient_permissions', 'Pages of other sites cannot use /mcp.', { param: 'Origin' });
}

function keyOf({ headers }: FastifyRequest): string {
  const [, key] = /^Bearer +(\S+) *$/i.exec(headers.authorization ?? '') ?? [];
  if (key !== undefined) return key;
  throw new ApiError('missing_api_key', 'Send a secret key in the header: Authorization: Bearer svc_test_sk_…');
}

async function inject(
  app: FastifyInstance,
  { ip }: FastifyRequest,
  key: string,
  { method, path, body, idempotencyKey, isApproved }: ApiRequest,
): Promise<ApiReply> {
  const options: InjectOptions = {
    method,
    url: path,
    remoteAddress: ip,
    headers: {
      authorization: `Bearer ${key}`,
      ...(idempotencyKey && { 'x-svc-idempotency-key': idempotencyKey }),
      ...(isApproved && approvedCallHeaders),
    },
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
