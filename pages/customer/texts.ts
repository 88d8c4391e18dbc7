import type { customer } from '../../server/customer-texts/languages/en/customer.ts';
import { pageTexts } from '../shared/page-texts.ts';

/** The texts of the customer page in the language of the document. */
export const texts = pageTexts<typeof customer>();
