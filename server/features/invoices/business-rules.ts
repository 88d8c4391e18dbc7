import { isTaxId } from '../../platform/tax-ids.ts';
import type { InvoiceContent } from './queries.ts';

/** The categories of EN 16931 for sales without tax, as the merchant names them. */
export const exemptCategories = {
  reverse_charge: 'AE',
  export: 'G',
  not_subject: 'O',
} as const;
export type ExemptCategory = keyof typeof exemptCategories;

/** What a business buyer in another country means for the tax. */
export interface BusinessRule {
  readonly countries: readonly string[];
  readonly category: ExemptCategory;
  /** The name of the tax that is not charged. */
  readonly name: string;
  /** Printed on the invoice, for example that the buyer owes the tax. */
  readonly text: string;
}

/** A company with a tax ID of a valid form, in another country than the seller. The first rule for that country applies. */
export function businessRuleFor({ buyer, seller, tax }: InvoiceContent): BusinessRule | undefined {
  if (!tax?.business_rules || !buyer.company || !buyer.tax_id || !isTaxId(buyer.tax_id)) return undefined;
  if (!seller.address?.country || seller.address.country === tax.country) return undefined;
  return tax.business_rules.find(({ countries }) => countries.includes(tax.country));
}
