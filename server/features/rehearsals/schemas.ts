import Type, { type Static } from 'typebox';
import { nullable, timestamp, uuid } from '../../http/schemas.ts';
import { choice } from '../../platform/choice.ts';

/** What a rehearsal does, in this order. */
export const stepNames = [
  'account',
  'capture',
  'first_charge',
  'equal_amount',
  'decline',
  'retry',
  'partial_refund',
  'full_refund',
  'renewal',
  'network_reference',
  'notices',
  'dispute',
] as const;
export type StepName = (typeof stepNames)[number];

const rehearsalStep = Type.Object(
  {
    step: choice(stepNames),
    result: choice(['right', 'wrong', 'skipped']),
    sent: Type.String({ description: 'What was sent, without data of the card.' }),
    expected: Type.String(),
    answered: Type.String(),
    advice: nullable(Type.String({ description: 'What to do about it.' })),
    at: timestamp(),
  },
  { title: 'RehearsalStep' },
);
export type RehearsalStep = Static<typeof rehearsalStep>;

export const rehearsal = Type.Object(
  {
    id: uuid(),
    connection_id: uuid(),
    state: choice(['running', 'passed', 'failed']),
    current: nullable(choice(stepNames, { description: 'The step under way.' })),
    steps: Type.Array(rehearsalStep),
    started_at: timestamp(),
    ended_at: nullable(timestamp()),
  },
  { title: 'Rehearsal' },
);
export type Rehearsal = Static<typeof rehearsal>;

export const rehearsalStart = Type.Object(
  {
    currency: Type.Optional(
      Type.String({
        format: 'currency',
        description: 'Of the payments. Default: the first one that the connection takes, or usd.',
      }),
    ),
  },
  { additionalProperties: false, title: 'RehearsalStart' },
);
export type RehearsalStart = Static<typeof rehearsalStart>;

export const rehearsalCompany = Type.Object({ id: uuid(), name: Type.String() }, { title: 'RehearsalCompany' });

export const rehearsalList = Type.Object({ data: Type.Array(rehearsal) }, { title: 'Rehearsals' });
