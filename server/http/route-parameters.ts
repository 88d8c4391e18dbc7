import type { TSchema } from 'typebox';
import { choice } from '../platform/choice.ts';
import { listParameters } from './lists.ts';
import { listParameter, oneOf, type QueryParameters } from './query-parameters.ts';
import type { RouteBase } from './route.ts';

function propertiesOf(schema: TSchema): string[] {
  return Object.keys((schema as { properties?: object }).properties ?? {});
}

/** Adds the permission if it differs from that of the route. */
function expansionsOf({ expand = {}, permission }: RouteBase): string[] {
  return Object.entries(expand).map(([name, needed]) =>
    needed === permission ? `\`${name}\`` : `\`${name}\` (needs \`${needed}\`)`,
  );
}

const titleOf = (schema: TSchema): string => (schema as { title?: string }).title ?? '';

/** Returns every query parameter of a route: its own, and those of the common rules. */
export function queryParametersOf(route: RouteBase): QueryParameters {
  const reads = route.method === 'GET';
  const expand = Object.keys(route.expand ?? {});
  return {
    ...(route.list && listParameters(route.list)),
    ...route.parameters,
    ...(reads && {
      expand: listParameter(
        oneOf(expand),
        `Includes related objects: ${expansionsOf(route).join(', ') || 'none here'}. Repeat the parameter or separate names with commas.`,
        choice(expand),
      ),
    }),
    ...(reads &&
      route.fields && {
        [`fields[${route.fields.name}]`]: listParameter(
          oneOf(propertiesOf(route.fields.schema)),
          'Returns only these fields, separated by commas. `id` is always included. Other fields are omitted, even if they are marked as required.',
          choice(propertiesOf(route.fields.schema), { title: `${titleOf(route.fields.schema)}Field` }),
        ),
      }),
  };
}
