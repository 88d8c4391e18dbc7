import type { FastifyInstance, FastifyRequest } from 'fastify';
import {
  findNotifiedConnection,
  type NotifiedConnection,
  type ReceiveDependencies,
  receiveNotices,
} from '../features/processors/notices.ts';
import { takeNoticeFromAddress, takeNoticeFromConnection } from '../http/limiting.ts';
import type { HttpDependencies } from '../http/api-caller.ts';
import { limits } from '../limits.ts';
import { isUuid } from '../platform/ids.ts';
import { checkRoom, enter, leave } from '../http/work.ts';

type NoticeRequest = FastifyRequest<{ Params: { connection: string } }>;

/**
 * The URL that an owner enters at the processor. What arrives there is believed only if its signature is right. The
 * body is read only if the connection exists and there is room for it; a processor sends what is rejected again.
 */
export async function mountNotices(
  app: FastifyInstance,
  dependencies: ReceiveDependencies,
  http: HttpDependencies,
): Promise<void> {
  const found = new WeakMap<object, NotifiedConnection>();

  async function find(request: NoticeRequest): Promise<NotifiedConnection | undefined> {
    const { connection } = request.params;
    if (!isUuid(connection)) return undefined;
    await enter(http.admissions, request);
    try {
      return await findNotifiedConnection(dependencies.shards, connection.toLowerCase());
    } finally {
      leave(http.admissions, request);
    }
  }

  await app.register(async (scope) => {
    scope.removeAllContentTypeParsers();
    // A signature is over the bytes as they were sent.
    scope.addContentTypeParser('*', { parseAs: 'buffer' }, (request, bytes, done) => {
      request.work.bodyBytes = bytes.length;
      done(null, bytes);
    });
    scope.post<{ Params: NoticeRequest['params'] }>(
      '/processors/:connection/notices',
      {
        config: { rateLimit: 'own' },
        bodyLimit: limits.noticeBytes,
        onRequest: async (request, reply) => {
          await takeNoticeFromAddress(request, http);
          const connection = await find(request);
          if (!connection) return reply.code(404).type('text/plain').send('There is no such connection.');
          found.set(request, connection);
          const { company_id: companyId, id } = connection.connection;
          request.work.shard = connection.shard;
          await takeNoticeFromConnection(request, http, companyId, id);
          return checkRoom(http.admissions, request);
        },
      },
      async (request, reply) => {
        await enter(http.admissions, request);
        const connection = found.get(request);
        if (!connection) throw new Error('a notice was read before its connection was known');
        const body = Buffer.isBuffer(request.body) ? request.body : Buffer.alloc(0);
        const received = await receiveNotices(dependencies, connection, headersOf(request), body);
        return reply.code(received.status).type('text/plain').send(received.body);
      },
    );
  });
}

function headersOf({ headers }: FastifyRequest): Record<string, string | undefined> {
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name, Array.isArray(value) ? value.join(', ') : value]),
  );
}
