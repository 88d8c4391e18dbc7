import type { confirm } from '../../server/customer-texts/languages/en/confirm.ts';
import { pageTexts } from '../shared/page-texts.ts';

/** The texts of the page on which a customer confirms a payment in the language of the document. */
export const texts = pageTexts<typeof confirm>();
