import type { BrandName } from '../../platform/card-brands.ts';
import type { RequestContext } from '../../request-context.ts';
import { companyConnections } from '../processors/service.ts';

/** The brands that most people have, in the order in which pages show their marks. */
const shownBrands: readonly BrandName[] = ['visa', 'mastercard', 'amex', 'discover'];

/** Those that at least one connection of the company takes. A sandbox takes all. */
export async function acceptedCards({ db, company }: RequestContext): Promise<readonly BrandName[]> {
  if (company.processor !== 'connected') return shownBrands;
  const connections = (await companyConnections(db, company.id)).filter((one) => one.disconnected_at === null);
  return shownBrands.filter((brand) => connections.some(({ rules }) => rules.brands?.includes(brand) ?? true));
}
