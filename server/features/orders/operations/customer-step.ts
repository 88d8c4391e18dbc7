import type { ServiceKey } from '../../../platform/service-keys.ts';
import type { CustomerAction } from '../../../vault/processors/authentication.ts';
import type { Intended } from './open-queries.ts';

/** What is kept while the customer is at the bank: the address of the bank, and what the processor needs afterwards. */
interface CustomerStep {
  readonly action: CustomerAction;
  readonly handle?: string;
}

type Step = Pick<Intended, 'company_id' | 'id'>;

/** The address can pay for the order of another, and the handle can be a secret of the processor, so both are encrypted. */
const about = ({ company_id, id }: Step): string => `customer step ${company_id} ${id}`;

interface WithKey {
  readonly stepKey?: ServiceKey;
}

function keyOf({ stepKey }: WithKey): ServiceKey {
  if (!stepKey) throw new Error('this process leads no customer to a bank');
  return stepKey;
}

export const sealStep = (charging: WithKey, open: Step, { action, handle }: CustomerStep): Buffer =>
  keyOf(charging).seal(Buffer.from(JSON.stringify({ action, ...(handle !== undefined && { handle }) })), about(open));

export const openStep = (charging: WithKey, open: Step & { readonly customer_step: Buffer }): CustomerStep =>
  JSON.parse(keyOf(charging).open(open.customer_step, about(open)).toString()) as CustomerStep;
