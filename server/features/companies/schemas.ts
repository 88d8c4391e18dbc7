import Type, { type Static } from 'typebox';
import { name, nullable, timestamp, uuid } from '../../http/schemas.ts';
import { supportedVersions } from '../../http/versions/versions.ts';
import { limits } from '../../limits.ts';
import { modes } from '../../company.ts';
import { choice } from '../../platform/choice.ts';

const afterDunning = choice(['failed', 'canceled']);
const days = Type.Array(Type.Integer({ minimum: 1, maximum: limits.dunningDaysMax }), {
  minItems: 1,
  maxItems: limits.dunningRetries,
});

const timeZone = Type.String({
  minLength: 1,
  maxLength: limits.timeZoneLength,
  description: 'An IANA time zone, for example America/New_York. The days of figures are days of this zone.',
});

const authenticates = Type.Boolean({
  description: 'Of a sandbox: whether the bank of the sandbox authenticates the customers of some test cards.',
});

const rule = (description: string) => Type.Boolean({ description });
const rules = {
  refuse_declined: rule('The bank declined the verification.'),
  refuse_wrong_cvc: rule('The CVC does not match.'),
  refuse_wrong_address: rule('Neither the street nor the postal code matches.'),
};

export const companyUpdate = Type.Object(
  {
    name: Type.Optional(name()),
    api_version: Type.Optional(choice(supportedVersions)),
    dunning_days: Type.Optional(days),
    after_dunning: Type.Optional(afterDunning),
    time_zone: Type.Optional(timeZone),
    authenticates: Type.Optional(authenticates),
    card_rules: Type.Optional(Type.Partial(Type.Object(rules), { additionalProperties: false })),
  },
  { additionalProperties: false },
);
export type CompanyUpdate = Static<typeof companyUpdate>;

export const companySettings = Type.Object({
  id: uuid(),
  account_id: uuid(),
  name: Type.String(),
  mode: choice(modes),
  api_version: Type.String(),
  /** The supported versions, newest first, and how each differs from the latest. */
  versions: Type.Array(Type.Object({ version: Type.String(), differences: Type.Array(Type.String()) })),
  dunning_days: days,
  after_dunning: afterDunning,
  time_zone: Type.String(),
  authenticates,
  card_rules: Type.Object(rules, { description: 'Which new cards are refused, by the result of their verification.' }),
  rate_limits: Type.Array(
    Type.Object({
      category: Type.String(),
      count: nullable(Type.Integer()),
      window_seconds: nullable(Type.Integer()),
    }),
  ),
  processor: nullable(
    choice(['sandbox', 'connected'], {
      description: 'Null if a company that is no sandbox has no connected processor.',
    }),
  ),
  created_at: timestamp(),
});
export type CompanySettings = Static<typeof companySettings>;
