import { byId, element, filled } from '../shared/dom.ts';
import { money } from '../shared/money.ts';
import { inPageLocale } from '../shared/page-texts.ts';
import type { AccountPayment, Payments } from './account.ts';
import { dateText } from './subscriptions.ts';
import { texts } from './texts.ts';

/** The payments of the customer, newest first. */

export function showPayments(token: string, { items, next }: Payments, isContinued: boolean): void {
  const list = byId('payments');
  if (!isContinued) list.replaceChildren();
  list.append(...items.map((payment) => rowOfPayment(token, payment)));
  list.hidden = list.children.length === 0;
  byId('no-payments').hidden = !list.hidden;
  byId('more').hidden = next === null;
}

const orderStatusTexts: Readonly<Partial<Record<string, string>>> = texts.orderStatus;

function rowOfPayment(token: string, payment: AccountPayment): HTMLElement {
  const { order_number: number, created_at, description, status, total, currency, confirm_url } = payment;
  const row = element(
    'li',
    {},
    element(
      'div',
      { class: 'what' },
      element('b', {}, description || filled(texts.order, { number })),
      element('small', {}, `${dateText(created_at)} · ${filled(texts.order, { number })}`),
    ),
    element(
      'div',
      { class: 'sum' },
      element('span', {}, money(total, currency)),
      element('span', { class: `status ${status}` }, orderStatusTexts[status] ?? status),
    ),
  );
  row.querySelector('.what')?.append(...papersOf(token, payment));
  if (confirm_url) {
    const label = filled(texts.confirmOf, { number });
    row
      .querySelector('.what')
      ?.append(element('a', { href: inPageLocale(confirm_url), 'aria-label': label }, texts.confirm));
  }
  return row;
}

/** Links to the receipt, invoices and credit notes. */
function papersOf(token: string, { id, order_number, has_receipt, documents }: AccountPayment): HTMLElement[] {
  const link = (path: string, text: string, label = text): HTMLElement => {
    const href = inPageLocale(`${token}/${path}`);
    return element('a', { href, target: '_blank', rel: 'noopener noreferrer', 'aria-label': label }, text);
  };
  const receipt = filled(texts.receiptOf, { number: order_number });
  return [
    ...(has_receipt ? [link(`orders/${id}/receipt`, texts.receipt, receipt)] : []),
    ...documents.map(({ id: documentId, kind, number }) =>
      link(`documents/${documentId}`, filled(kind === 'invoice' ? texts.invoice : texts.creditNote, { number })),
    ),
  ];
}
