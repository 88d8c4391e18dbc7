import type { declarations } from '../../server/customer-texts/languages/en/declarations.ts';
import { pageTexts } from '../shared/page-texts.ts';

/** The texts of the pages on which a customer cancels or withdraws, in the language of the document. */
export const texts = pageTexts<typeof declarations>();
