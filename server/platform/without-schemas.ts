import type { FastifyServerOptions } from 'fastify';

/** Our routes declare no schemas to Fastify: we validate and write JSON ourselves. */
function unused(): never {
  throw new Error('routes have no schemas of Fastify');
}

/** Keeps Fastify from loading its compilers of schemas, which takes 20 ms. */
export const withoutSchemas: Pick<FastifyServerOptions, 'schemaController'> = {
  schemaController: { compilersFactory: { buildValidator: unused, buildSerializer: unused } },
};
