import { byId, filled } from '../shared/dom.ts';
import { money } from '../shared/money.ts';
import { periodText } from '../shared/periods.ts';
import type { AccountMerchant, AccountSubscription } from './account.ts';
import { dateText, type SubscriptionAction } from './subscriptions.ts';
import { texts } from './texts.ts';

/** The questions before a subscription is paused, continues, ends, or begins again. */

interface Question {
  readonly title: string;
  readonly text: string;
  readonly yes: string;
  readonly no: string;
  readonly look: 'danger' | 'pay';
}

function ask({ title, text, yes, no, look }: Question): Promise<boolean> {
  byId('confirm-title').textContent = title;
  byId('confirm-text').textContent = text;
  const button = byId('confirm-yes');
  button.textContent = yes;
  button.className = look;
  byId('confirm-no').textContent = no;
  return answered('confirm');
}

function answered(id: 'confirm' | 'pause'): Promise<boolean> {
  const dialog = byId(id, HTMLDialogElement);
  dialog.returnValue = '';
  dialog.showModal();
  return new Promise((resolve) => {
    dialog.addEventListener('close', () => resolve(dialog.returnValue === 'yes'), { once: true });
  });
}

/** Returns the day on which the subscription continues. */
export async function choosePause({
  name,
  currency,
  pause_dates,
  current_period_end,
}: AccountSubscription): Promise<string | undefined> {
  if (!pause_dates) return undefined;
  const { first, last, total } = pause_dates;
  byId('pause-title').textContent = filled(texts.pauseTitle, { name });
  const date = current_period_end ? dateText(current_period_end) : '';
  byId('pause-text').textContent = filled(texts.pauseText, { date, amount: money(total, currency) });
  const input = byId('pause-until', HTMLInputElement);
  [input.min, input.max, input.value] = [first, last, input.value || first];
  if (input.value < first || input.value > last) input.value = first;
  return (await answered('pause')) ? input.value : undefined;
}

/** What is charged at once, if the customer agrees. */
export async function askToContinue(
  { name, currency, pause }: AccountSubscription,
  merchant: AccountMerchant,
): Promise<number | undefined> {
  if (!pause) return undefined;
  const amount = money(pause.total, currency);
  const date = pause.paid_until && dateText(pause.paid_until);
  const charged = pause.paid_until ? 0 : pause.total;
  const isYes = await ask({
    title: filled(texts.continueTitle, { name }),
    text: date ? filled(texts.continuePaid, { date, amount }) : filled(texts.continueText, { amount }),
    yes: payText(charged, texts.continueNow, filled(texts.continuePay, { amount }), merchant),
    no: texts.close,
    look: 'pay',
  });
  return isYes ? charged : undefined;
}

export async function askToSubscribe(
  { again }: AccountSubscription,
  merchant: AccountMerchant,
  card: string,
): Promise<number | undefined> {
  if (!again) return undefined;
  const { name, total, currency } = again;
  const amount = money(total, currency);
  const price = filled(texts.price, {
    amount: money(again.amount, currency),
    period: periodText(again, texts.period),
  });
  const isYes = await ask({
    title: filled(texts.againTitle, { name }),
    text: filled(texts.againText, { amount, card, price }),
    yes: merchant.names_duty
      ? texts.orderWithDuty
      : payText(total, texts.again, filled(texts.againPay, { amount }), merchant),
    no: texts.close,
    look: 'pay',
  });
  return isYes ? total : undefined;
}

function payText(charged: number, free: string, paid: string, { names_duty }: AccountMerchant): string {
  if (charged === 0) return free;
  return names_duty ? texts.orderWithDuty : paid;
}

export function isConfirmed(action: SubscriptionAction, subscription: AccountSubscription): Promise<boolean> {
  if (action !== 'cancel' && action !== 'end_renewal') return Promise.resolve(true);
  const { name, current_period_end: end } = subscription;
  const words = { name, date: end ? dateText(end) : '' };
  const isEnd = action === 'end_renewal';
  return ask({
    title: filled(isEnd ? texts.endTitle : texts.cancelTitle, words),
    text: filled(isEnd ? texts.endText : texts.cancelText, words),
    yes: isEnd ? texts.endRenewal : texts.cancel,
    no: texts.keep,
    look: 'danger',
  });
}
