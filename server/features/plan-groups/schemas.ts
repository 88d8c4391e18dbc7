import Type, { type Static } from 'typebox';
import { name, nullable, timestamp, uuid } from '../../http/schemas.ts';
import { limits } from '../../limits.ts';
import { choice } from '../../platform/choice.ts';

/** Plans between which customers may change on their page. */

const times = ['now', 'renewal', 'off'] as const;

const fields = {
  name: name(),
  plan_ids: Type.Array(uuid(), {
    minItems: 1,
    maxItems: limits.plansOfGroup,
    description: 'In the order of the page. All have the same currency, and none is in another group.',
  }),
  upgrade: choice(times, { description: 'When customers get a plan or seats that cost more.' }),
  downgrade: choice(times, { description: 'When customers get a plan or seats that cost less.' }),
  proration: choice(['difference', 'restart', 'none'], {
    description: 'Of changes now. Between different billing intervals, a change now begins a new period.',
  }),
  after_cycles: Type.Integer({
    minimum: 0,
    maximum: limits.billingCyclesMax,
    description: 'Customers may change after this number of paid cycles.',
  }),
  seats_max: nullable(
    Type.Integer({
      minimum: 1,
      maximum: limits.quantityMax,
      description: 'The most seats that a customer can choose. Null: customers cannot choose seats.',
    }),
  ),
};

export const planGroupCreate = Type.Object(fields, { additionalProperties: false, title: 'PlanGroupCreate' });
export type PlanGroupCreate = Static<typeof planGroupCreate>;

export const planGroupUpdate = Type.Partial(Type.Object(fields), {
  additionalProperties: false,
  title: 'PlanGroupUpdate',
});
export type PlanGroupUpdate = Static<typeof planGroupUpdate>;

export const planGroup = Type.Object(
  { id: uuid(), ...fields, created_at: timestamp(), updated_at: timestamp() },
  { title: 'PlanGroup' },
);
export type PlanGroup = Static<typeof planGroup>;

export const planGroups = Type.Object({ data: Type.Array(planGroup) }, { title: 'PlanGroups' });
export const deletedPlanGroup = Type.Object({ id: uuid(), deleted: Type.Literal(true) }, { title: 'DeletedPlanGroup' });
