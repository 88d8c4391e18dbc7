import Type, { type Static } from 'typebox';
import { memberPermissions } from '../../http/permissions.ts';
import { freeText, name, nullable, phone, timestamp, uuid, typedEmail } from '../../http/schemas.ts';
import { limits } from '../../limits.ts';
import { choice } from '../../platform/choice.ts';

const usPhone = Type.String({
  maxLength: 12,
  format: 'us-phone',
  description: 'US phone number: `+1` and 10 digits.',
  examples: ['+15551234567'],
});
const email = Type.String({ format: 'email', maxLength: limits.emailLength, examples: ['grace@example.com'] });

export const teamMemberCreate = Type.Object(
  { first_name: name(), last_name: name(), email, phone_number: usPhone, role_id: uuid() },
  { additionalProperties: false, title: 'TeamMemberCreate' },
);
export type TeamMemberCreate = Static<typeof teamMemberCreate>;

/**
 * The dashboard needs an email address and a role; the person adds the rest. It accepts phone numbers of any country. The API
 * promises a US number for every member, so other numbers are shown only to the users themselves.
 */
export const invitation = Type.Object(
  {
    email: typedEmail(),
    role_id: uuid(),
    first_name: Type.Optional(name()),
    last_name: Type.Optional(name()),
    phone_number: Type.Optional(phone()),
  },
  { additionalProperties: false },
);
export type Invitation = Static<typeof invitation>;

export const memberStatus = choice(['pending', 'active', 'blocked'], { title: 'TeamMemberStatus' });

export const teamMember = Type.Object(
  {
    id: uuid(),
    email,
    first_name: Type.String(),
    last_name: Type.String(),
    phone_number: nullable(usPhone),
    status: memberStatus,
    role: Type.Object({ id: uuid(), name: Type.String() }, { title: 'RoleSummary' }),
    invited_at: timestamp(),
    accepted_at: nullable(timestamp()),
    created_at: timestamp(),
    updated_at: timestamp(),
  },
  {
    title: 'TeamMember',
    examples: [
      {
        id: '019c4c21-0000-7f00-9a55-617283940516',
        email: 'grace@example.com',
        first_name: 'Grace',
        last_name: 'Hopper',
        phone_number: '+15551234567',
        status: 'pending',
        role: { id: '019c4c21-1000-7f00-9a55-617283940517', name: 'Developer' },
        invited_at: '2026-02-11T09:45:00.000Z',
        accepted_at: null,
        created_at: '2026-02-11T09:45:00.000Z',
        updated_at: '2026-02-11T09:45:00.000Z',
      },
    ],
  },
);
export type TeamMember = Static<typeof teamMember>;

export const role = Type.Object(
  {
    id: uuid(),
    name: Type.String(),
    description: Type.String(),
    default_page: Type.String({ description: 'The page on which the dashboard opens.' }),
    custom: Type.Boolean({ description: 'Whether it is a custom role.' }),
    permissions: Type.Optional(Type.Array(Type.String(), { description: 'With `expand=permissions`.' })),
  },
  { title: 'Role' },
);
export type Role = Static<typeof role>;

export const roleList = Type.Object(
  { data: Type.Array(role) },
  {
    title: 'RoleList',
    examples: [
      {
        data: [
          {
            id: '019c4c21-1000-7f00-9a55-617283940517',
            name: 'Developer',
            description: 'API keys, webhooks, logs and sandbox tools.',
            default_page: '/developers',
            custom: false,
          },
        ],
      },
    ],
  },
);

const rolePermissions = Type.Array(choice(memberPermissions), { minItems: 1, maxItems: 100 });
const roleDescription = freeText(limits.textLength);
const page = Type.String({ pattern: '^/[a-z/-]{1,60}$' });

/** Used only by the dashboard, like the rest of this file. */
export const roleCreate = Type.Object(
  {
    name: name(),
    description: Type.Optional(roleDescription),
    default_page: Type.Optional(page),
    permissions: rolePermissions,
  },
  { additionalProperties: false },
);
export type RoleCreate = Static<typeof roleCreate>;

export const roleUpdate = Type.Object(
  {
    name: Type.Optional(name()),
    description: Type.Optional(roleDescription),
    default_page: Type.Optional(page),
    permissions: Type.Optional(rolePermissions),
  },
  { additionalProperties: false },
);
export type RoleUpdate = Static<typeof roleUpdate>;

export const memberUpdate = Type.Object({ role_id: uuid() }, { additionalProperties: false });

export const deletion = Type.Object({ id: uuid(), deleted: Type.Literal(true) });

export const permissionList = Type.Object({
  data: Type.Array(Type.Object({ key: Type.String(), for_keys: Type.Boolean(), note: nullable(Type.String()) })),
});
export type PermissionList = Static<typeof permissionList>;
