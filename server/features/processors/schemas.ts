import Type, { type Static } from 'typebox';
import { name, nullable, timestamp, uuid } from '../../http/schemas.ts';
import { limits } from '../../limits.ts';
import { brandNames } from '../../platform/card-brands.ts';
import { choice } from '../../platform/choice.ts';
import type { Configuration } from '../../vault/processors/kind.ts';
import { processorKinds } from '../../vault/processors/kinds.ts';
import { notedOperations } from './rejections.ts';

const kind = choice(processorKinds.map((one) => one.kind));
const fieldNames = [...new Set(processorKinds.flatMap(({ fields }) => fields.map(({ name: field }) => field)))];
const configuration = Type.Unsafe<Configuration>(
  Type.Object(
    Object.fromEntries(
      fieldNames.map((field) => [field, Type.Optional(Type.String({ maxLength: limits.processorFieldLength }))]),
    ),
    {
      additionalProperties: false,
      title: 'ConnectionConfiguration',
      description: 'The fields of this kind of processor, see `kinds`. They are stored encrypted and never returned.',
    },
  ),
);

export const connectionRules = Type.Object(
  {
    currencies: Type.Optional(Type.Array(Type.String({ format: 'currency' }), { minItems: 1, maxItems: 200 })),
    brands: Type.Optional(Type.Array(choice(brandNames), { minItems: 1, maxItems: brandNames.length })),
    share: Type.Optional(Type.Integer({ minimum: 1, maximum: 100 })),
  },
  { additionalProperties: false, title: 'ConnectionRules' },
);

export const connectionCreate = Type.Object(
  { kind, name: Type.Optional(name()), configuration },
  { additionalProperties: false, title: 'ConnectionCreate' },
);
export type ConnectionCreate = Static<typeof connectionCreate>;

export const connectionTest = Type.Object(
  {
    kind,
    configuration,
    connection_id: Type.Optional(
      uuid({ description: 'Fields that are left out have the stored values of this connection.' }),
    ),
  },
  { additionalProperties: false, title: 'ConnectionTestRequest' },
);

export type ConnectionTest = Static<typeof connectionTest>;

export const connectionUpdate = Type.Object(
  {
    name: Type.Optional(name()),
    rules: Type.Optional(connectionRules),
    verifies_cards: Type.Optional(Type.Boolean()),
    configuration: Type.Optional(configuration),
  },
  { additionalProperties: false, title: 'ConnectionUpdate' },
);
export type ConnectionUpdate = Static<typeof connectionUpdate>;

export const connectionOrder = Type.Object(
  { connection_ids: Type.Array(uuid(), { minItems: 1, maxItems: limits.connections }) },
  { additionalProperties: false },
);

export const connection = Type.Object(
  {
    id: uuid(),
    kind: Type.String(),
    kind_name: Type.String(),
    name: Type.String(),
    status: choice(['connected', 'disconnected', 'removed']),
    position: nullable(Type.Integer()),
    rules: connectionRules,
    verifies_cards: Type.Boolean(),
    notice_url: nullable(Type.String()),
    notice_seen_at: nullable(timestamp()),
    notice_refused_at: nullable(timestamp()),
    notice_refusal: nullable(Type.String()),
    refused_at: nullable(timestamp()),
    rejected_at: nullable(
      timestamp({
        description: 'Since when the processor refuses the account, its settings or a permission of its key.',
      }),
    ),
    rejection: nullable(Type.String({ description: 'What the processor refuses.' })),
    rejected_operation: nullable(
      choice(notedOperations, { description: 'The operations that it refuses because of that.' }),
    ),
    code_wanted_at: nullable(timestamp({ description: 'Since when charges without a security code are rejected.' })),
    code_request: nullable(Type.String({ description: 'What to write to the processor’s support about it.' })),
    unlinked_at: nullable(timestamp()),
    health: Type.Object({
      calls: Type.Integer(),
      failures: Type.Integer(),
      is_broken: Type.Boolean(),
      last_calls: Type.Array(
        Type.Object({ at: timestamp(), outcome: Type.String(), reason: nullable(Type.String()) }),
        { description: 'The last calls of the process that answers, newest first.' },
      ),
    }),
    created_at: timestamp(),
    disconnected_at: nullable(timestamp()),
  },
  { title: 'Connection' },
);
export type Connection = Static<typeof connection>;

export const connectionList = Type.Object(
  {
    connections: Type.Array(connection),
    kinds: Type.Array(
      Type.Object({
        kind: Type.String(),
        name: Type.String(),
        sends_notices: Type.Boolean(),
        fields: Type.Array(
          Type.Object({
            name: Type.String(),
            label: Type.String(),
            help: Type.String(),
            is_secret: Type.Boolean(),
            is_optional: Type.Boolean(),
            choices: nullable(Type.Array(Type.String())),
          }),
        ),
      }),
    ),
  },
  { title: 'Connections' },
);
export type ConnectionList = Static<typeof connectionList>;

export const connectionTestResult = Type.Object(
  {
    works: Type.Boolean(),
    account: nullable(Type.String()),
    problem: nullable(Type.String()),
    advice: nullable(Type.String({ description: 'What the account needs besides, or may need.' })),
  },
  { title: 'ConnectionTest' },
);
export type ConnectionTestResult = Static<typeof connectionTestResult>;
