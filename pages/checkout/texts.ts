import type { checkout } from '../../server/customer-texts/languages/en/checkout.ts';
import { pageTexts } from '../shared/page-texts.ts';

/** The texts of the checkout page in the language of the document. */
export const texts = pageTexts<typeof checkout>();
