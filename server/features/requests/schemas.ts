import Type, { type Static } from 'typebox';
import { nullable, timestamp, uuid } from '../../http/schemas.ts';
import { choice } from '../../platform/choice.ts';

const summary = {
  id: uuid({ description: 'Position in the list.' }),
  request_id: Type.String({
    pattern: '^req_[a-z2-7]{24}$',
    description: 'The request ID from the header SVC-Request-Id.',
  }),
  method: Type.String(),
  path: Type.String(),
  status: Type.Integer(),
  duration_ms: Type.Integer(),
  actor: Type.Object(
    {
      kind: choice(['key', 'member'], {
        title: 'ActorKind',
        description: 'An API key or a team member.',
      }),
      id: uuid(),
      name: Type.String(),
    },
    { title: 'Actor' },
  ),
  address: Type.String(),
  created_at: timestamp({ description: 'Time of the response, in real time.' }),
};

const summaryExample = {
  id: '019c4c21-4a20-7e13-8d4e-8f706b5c4d3e',
  request_id: 'req_k3v5qz7m2n4p6r6s2t3u5w7x',
  method: 'POST',
  path: '/v1/customers',
  status: 201,
  duration_ms: 12,
  actor: { kind: 'key', id: '019c4c1e-6f00-7a3b-9d1c-2b8f3a4e5d60', name: 'shop' },
  address: '203.0.113.7',
  created_at: '2026-02-11T09:30:00.000Z',
};

export const loggedRequest = Type.Object(summary, { title: 'LoggedRequest', examples: [summaryExample] });
export type LoggedRequest = Static<typeof loggedRequest>;

const body = (description: string) => Type.Unsafe<unknown>({ description });

export const loggedRequestDetails = Type.Object(
  {
    ...summary,
    query: body('Query parameters by name, or null.'),
    api_version: nullable(Type.String()),
    idempotency_key: nullable(Type.String()),
    request_body: body(
      'JSON with cards and secrets masked as `***`; text if it was cut off at 8 KiB; null if there is none or it is a file.',
    ),
    response_body: body('Same format as `request_body`.'),
  },
  {
    title: 'LoggedRequestDetails',
    examples: [
      {
        ...summaryExample,
        query: null,
        api_version: '2026-02-11',
        idempotency_key: null,
        request_body: { email: 'ada@example.com' },
        response_body: { id: '019c4c1e-6f00-7a3b-9d1c-2b8f3a4e5d60', email: 'ada@example.com' },
      },
    ],
  },
);
export type LoggedRequestDetails = Static<typeof loggedRequestDetails>;
