import type { FastifyInstance } from 'fastify';
import { notFound } from '../errors.ts';
import { daySeconds } from '../platform/durations.ts';
import { isUuid } from '../platform/ids.ts';
import type { Queryable } from '../platform/database.ts';

interface LogoDependencies {
  readonly shardOf: (companyId: string) => Promise<{ readonly db: Queryable }>;
  readonly logoWith: (db: Queryable, companyId: string, logoId: string) => Promise<Buffer | undefined>;
}

const keptSeconds = 365 * daySeconds;

/** Serves the logos of companies to anyone: pages, emails and mail programs show them. */
export function mountLogos(app: FastifyInstance, { shardOf, logoWith }: LogoDependencies): void {
  app.get<{ Params: { company: string; file: string } }>('/logos/:company/:file', async (request, reply) => {
    const { company, file } = request.params;
    const id = file.replace(/\.png$/, '');
    if (id === file || !isUuid(company) || !isUuid(id)) throw notFound('logo');
    const { db } = await shardOf(company);
    const png = await logoWith(db, company, id);
    if (!png) throw notFound('logo');
    return reply
      .header('Content-Type', 'image/png')
      .header('Cache-Control', `public, max-age=${keptSeconds}, immutable`)
      .header('Content-Security-Policy', "default-src 'none'; sandbox")
      .header('Cross-Origin-Resource-Policy', 'cross-origin')
      .send(png);
  });
}
