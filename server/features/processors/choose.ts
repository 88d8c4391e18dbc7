import { createHash } from 'node:crypto';
import type { BrandName } from '../../platform/card-brands.ts';
import type { ConnectionRow, Rules } from './queries.ts';

/** A charge, as far as the choice of its connection depends on it. */
export interface ChargeToPlace {
  readonly reference: string;
  readonly currency: string;
  readonly brand: BrandName;
}

type Choosable = Pick<ConnectionRow, 'id' | 'rules'>;

const takes = ({ currencies, brands }: Rules, { currency, brand }: ChargeToPlace): boolean =>
  (!currencies || currencies.includes(currency)) && (!brands || brands.includes(brand));

/** The same for the same charge and connection, so that a repetition chooses the same connection. */
function percentileOf(reference: string, connectionId: string): number {
  const hash = createHash('sha256').update(`${reference} ${connectionId}`).digest();
  return hash.readUInt32BE(0) % 100;
}

/**
 * Returns the connections that may take a charge, in the order in which they are tried: the first whose share includes it,
 * then the others in their own order. Those that do not answer come last, except for a charge that tries them.
 */
export function chooseConnections(
  connections: readonly Choosable[],
  charge: ChargeToPlace,
  admits: (connectionId: string, isFirst: boolean) => boolean,
): string[] {
  const fitting = connections.filter(({ rules }) => takes(rules, charge)).map(({ id, rules }) => ({ id, rules }));
  const first = fitting.find(({ id, rules }) => percentileOf(charge.reference, id) < (rules.share ?? 100));
  const ids = fitting.map(({ id }) => id);
  const ordered = first ? [first.id, ...ids.filter((id) => id !== first.id)] : ids;
  const { admitted = [], others = [] } = Object.groupBy(ordered, (id, index) =>
    admits(id, index === 0) ? 'admitted' : 'others',
  );
  return [...admitted, ...others];
}
