import Type, { type Static } from 'typebox';
import { permissions } from '../../http/permissions.ts';
import { clearable, name, nullable, timestamp, uuid } from '../../http/schemas.ts';
import { limits } from '../../limits.ts';
import { choice } from '../../platform/choice.ts';

const permissionList = Type.Array(choice(permissions), { maxItems: permissions.length });
const addresses = Type.Array(Type.String({ minLength: 1, maxLength: 64 }), { maxItems: limits.keyAddresses });
const closed = { additionalProperties: false } as const;

export const apiKeyCreate = Type.Object(
  {
    name: name(),
    kind: choice(['secret', 'publishable']),
    permissions: Type.Optional(permissionList),
    allowed_addresses: Type.Optional(addresses),
    expires_at: Type.Optional(timestamp()),
  },
  closed,
);
export type ApiKeyCreate = Static<typeof apiKeyCreate>;

export const apiKeyUpdate = Type.Object(
  {
    name: Type.Optional(name()),
    permissions: Type.Optional(permissionList),
    allowed_addresses: Type.Optional(addresses),
    expires_at: Type.Optional(clearable(timestamp())),
  },
  closed,
);
export type ApiKeyUpdate = Static<typeof apiKeyUpdate>;

const rotationGraceHours = [0, 1, 24, 72, 168] as const;
export const apiKeyRotate = Type.Object(
  {
    grace_period_hours: choice(rotationGraceHours, {
      description: 'How long the old key keeps working.',
    }),
  },
  closed,
);

const shown = {
  id: uuid(),
  name: Type.String(),
  kind: choice(['secret', 'publishable']),
  prefix: Type.String({ description: 'The beginning of the key, to identify it.' }),
  permissions: Type.Array(Type.String()),
  allowed_addresses: Type.Array(Type.String()),
  expires_at: nullable(timestamp()),
  revoked_at: nullable(timestamp()),
  last_used_at: nullable(timestamp()),
  created_at: timestamp(),
  status: choice(['active', 'expired', 'revoked']),
};

export const apiKey = Type.Object(shown);
export type ShownApiKey = Static<typeof apiKey>;
export const newApiKey = Type.Object({ ...shown, key: Type.String({ description: 'Returned only once.' }) });
export type NewApiKey = Static<typeof newApiKey>;
export const rotatedApiKey = Type.Object({ ...newApiKey.properties, previous_valid_until: timestamp() });
export type RotatedApiKey = Static<typeof rotatedApiKey>;
export const trialKey = Type.Object({
  id: uuid(),
  key: Type.String({ description: 'Returned only once.' }),
  permissions: Type.Array(Type.String()),
  expires_at: timestamp(),
});
export type TrialKey = Static<typeof trialKey>;
export const apiKeyList = Type.Object({ data: Type.Array(apiKey) });
