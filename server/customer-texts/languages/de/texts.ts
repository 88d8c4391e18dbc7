import type { Texts } from '../../languages.ts';
import { card } from './card.ts';
import { checkout } from './checkout.ts';
import { closed } from './closed.ts';
import { payments } from './payments.ts';

export const texts: Texts = { card, checkout, closed, payments };
