import type { setup } from '../../server/customer-texts/languages/en/setup.ts';
import { pageTexts } from '../shared/page-texts.ts';

/** The texts of the page on which a customer saves a card in the language of the document. */
export const texts = pageTexts<typeof setup>();
