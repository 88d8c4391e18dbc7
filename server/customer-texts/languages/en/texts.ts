import { card } from './card.ts';
import { checkout } from './checkout.ts';
import { closed } from './closed.ts';
import { payments } from './payments.ts';

export const texts = { card, checkout, closed, payments };
