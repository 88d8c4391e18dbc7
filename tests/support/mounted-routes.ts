import type { FastifyInstance } from 'fastify';

/** `METHOD /path` of every route the router knows, read from its printed tree. */
export function mountedRoutes(app: FastifyInstance): string[] {
  const parents: string[] = [];
  return app
    .printRoutes()
    .split('\n')
    .flatMap((line) => {
      const [, indent = '', part = '', methods] = /^([│ ]*)[├└]── (.*?)(?: \(([A-Z, ]+)\))?$/.exec(line) ?? [];
      const depth = indent.length / 4;
      parents.splice(depth, Infinity, part);
      return (methods?.split(', ') ?? []).map((method) => `${method} ${parents.join('')}`);
    });
}
