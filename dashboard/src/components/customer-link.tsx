import { personName } from '../format.ts';
import type { Customer } from '../types.ts';
import { TextLink } from './button.tsx';
import { CopyId } from './copy.tsx';

/** The name of the customer, or the ID if the member cannot read customers. */
export function CustomerLink({ id, customer }: { id: string; customer: Customer | undefined }) {
  return customer ? <TextLink to={`/customers/${id}`}>{personName(customer)}</TextLink> : <CopyId id={id} />;
}
