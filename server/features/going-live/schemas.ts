import Type, { type Static } from 'typebox';
import { uuid } from '../../http/schemas.ts';
import { choice } from '../../platform/choice.ts';

const step = choice(['rehearsal', 'processor', 'notices', 'api_keys', 'webhooks', 'charge']);

export const goingLive = Type.Object(
  {
    is_complete: Type.Boolean(),
    steps: Type.Array(Type.Object({ step, is_done: Type.Boolean() }), {
      description:
        '`notices` is listed only if a connected processor sends them; `rehearsal` only until the first payment, or once it is done.',
    }),
  },
  { title: 'GoingLive' },
);
export type GoingLive = Static<typeof goingLive>;

export const copiedKinds = ['products', 'plans', 'coupons', 'webhook_endpoints'] as const;
export type CopiedKind = (typeof copiedKinds)[number];
const kind = choice(copiedKinds);

export const copyRequest = Type.Object(
  {
    include: Type.Optional(
      Type.Array(kind, { minItems: 1, maxItems: copiedKinds.length, description: 'Everything by default.' }),
    ),
  },
  { additionalProperties: false, title: 'CopyFromSandboxRequest' },
);
export type CopyRequest = Static<typeof copyRequest>;

const count = Type.Object({
  copied: Type.Integer(),
  skipped: Type.Integer({ description: 'They exist in the live company already.' }),
});

export const copyResult = Type.Object(
  {
    products: count,
    plans: count,
    coupons: count,
    webhook_endpoints: count,
    left_out: Type.Array(Type.Object({ kind, name: Type.String(), reason: Type.String() })),
    signing_secrets: Type.Array(
      Type.Object({ endpoint_id: uuid(), url: Type.String(), signing_secret: Type.String() }),
      { description: 'Of the new webhook endpoints. Only this response contains them.' },
    ),
  },
  { title: 'CopyFromSandbox' },
);
export type CopyResult = Static<typeof copyResult>;
