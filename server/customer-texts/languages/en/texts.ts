import { card } from './card.ts';
import { checkout } from './checkout.ts';
import { closed } from './closed.ts';
import { confirm } from './confirm.ts';
import { customer } from './customer.ts';
import { declarations } from './declarations.ts';
import { emails } from './emails.ts';
import { formats } from './formats.ts';
import { invoices } from './invoices.ts';
import { payments } from './payments.ts';
import { receipts } from './receipts.ts';
import { setup } from './setup.ts';

export const texts = {
  card,
  checkout,
  closed,
  confirm,
  customer,
  declarations,
  emails,
  formats,
  invoices,
  payments,
  receipts,
  setup,
};
