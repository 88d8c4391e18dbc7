import { limits } from '../../limits.ts';
import { type Components, type Json, schemaReference } from './components.ts';
import type { DocumentedEvent } from './document.ts';

const signature = {
  type: 'string',
  examples: ['t=1770802200,v1=5257a869e7ecebeda32affa62cdca3fa51cad7e77a0e56ff536d0ce8e108d8bd'],
};

const header = (name: string, description: string, schema: Json = { type: 'string' }): Json => ({
  name,
  in: 'header',
  required: true,
  description,
  schema,
});

const deliveryHeaders = [
  header(
    'SVC-Signature',
    'Verify it before you trust the body: HMAC-SHA256 of `<t>.<body>` with the signing secret.',
    signature,
  ),
  header('SVC-Event-Id', 'The same in every attempt.'),
  header('SVC-Event-Type', 'Same as `type` in the body.'),
  header('SVC-Delivery-Attempt', 'Number of the attempt, starting at 1.', { type: 'integer', minimum: 1 }),
];

/** Not the tag of any path: generators write one file for each tag, separately for paths and for webhooks. */
export const webhookTag = 'Webhooks';

/** Documents the request that an endpoint receives for an event. */
export function webhook({ type, meaning, schema }: DocumentedEvent, components: Components): Json {
  return {
    post: {
      operationId: `on${type.replace(/(^|[._])(\w)/g, (_, __, letter: string) => letter.toUpperCase())}`,
      summary: meaning.replace(/\.$/, ''),
      description: `Sent to endpoints with \`${type}\` in their \`enabled_events\`.`,
      tags: [webhookTag],
      security: [],
      parameters: deliveryHeaders,
      requestBody: { required: true, content: { 'application/json': { schema: schemaReference(schema, components) } } },
      responses: {
        '2XX': {
          description: `Accepted. Respond within ${limits.webhookTimeoutSeconds} seconds; any other response is retried.`,
        },
        '410': { description: 'Disables the endpoint.' },
      },
    },
  };
}
