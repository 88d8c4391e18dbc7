import type { TSchema } from 'typebox';
import { contact, license } from '../../publisher.ts';
import type { RouteBase } from '../route.ts';
import { differencesOf, latestVersion } from '../versions/versions.ts';
import type { Components, Json } from './components.ts';
import { responseHeaders } from './headers.ts';
import { operation } from './operation.ts';
import { tagDescriptions } from './tags.ts';
import { webhook, webhookTag } from './webhooks.ts';

/**
 * The OpenAPI 3.1 document of one version, generated from the same declarations that validate, authorize and limit
 * requests. A document describes only its own version, so that a client generated from it gets the matching
 * responses.
 */

export interface DocumentedEvent {
  readonly type: string;
  readonly meaning: string;
  readonly schema: TSchema;
}

export interface Documented {
  readonly routes: readonly RouteBase[];
  readonly events: readonly DocumentedEvent[];
  readonly baseUrl: string;
}

export function openApiDocument({ routes, events, baseUrl }: Documented, version = latestVersion): Json {
  const components: Components = { schemas: {}, responses: {}, parameters: {} };
  const paths: Record<string, Json> = {};
  for (const route of routes) {
    const path = route.path.replace(/:(\w+)/g, '{$1}');
    paths[path] = { ...paths[path], [route.method.toLowerCase()]: operation(route, version, components) };
  }
  const webhooks = Object.fromEntries(events.map((event) => [event.type, webhook(event, components)]));
  return {
    openapi: '3.1.0',
    info: {
      title: 'Payments API',
      // A form that package managers accept as a version; Python is the strictest.
      version: version.split('-').map(Number).join('.'),
      'x-api-version': version,
      description: introduction(version),
      license: { name: 'Apache License 2.0', identifier: license },
      ...(Object.keys(contact).length > 0 && { contact }),
    },
    servers: [{ url: baseUrl }],
    security: [{ secretKey: [] }],
    externalDocs: { description: 'Guides', url: `${baseUrl}/docs` },
    tags: [...new Set(routes.map((route) => route.tag)), webhookTag].map((name) => ({
      name,
      description: tagDescriptions[name],
    })),
    paths,
    webhooks,
    components: { securitySchemes, headers: responseHeaders, ...components },
  };
}

const bearer = (description: string): Json => ({ type: 'http', scheme: 'bearer', description });

const securitySchemes: Json = {
  secretKey: bearer('A secret key, for example `svc_test_sk_…`. Keep it on your server.'),
  publishableKey: bearer(
    'A publishable key, for example `svc_test_pk_…`. It is safe in a web page and can only create card tokens.',
  ),
};

function introduction(version: string): string {
  const differences = differencesOf(version);
  return [
    'Customers, cards, products, orders, refunds, subscriptions, coupons, team members and webhooks. ' +
      'Amounts are integers in the smallest unit of the currency: 4900 in `usd` is $49.00, ' +
      '1500 in `jpy` is ¥1,500, 1250 in `kwd` is KWD 1.250. A declined card is not an error: the order has the status `failed`.',
    `This is version \`${version}\`. Each version has its own document at \`/openapi/<version>.json\`.`,
    ...(differences.length === 0
      ? []
      : [`Differences from \`${latestVersion}\`:\n\n${differences.map((text) => `- ${text}`).join('\n')}`]),
  ].join('\n\n');
}
