import { byId, element, filled, setText } from '../shared/dom.ts';
import { money } from '../shared/money.ts';
import { periodText } from '../shared/periods.ts';
import { type Answer, pauseMs } from '../shared/requests.ts';
import type { AccountSubscription, PlanPreview } from './account.ts';
import { dateText } from './subscriptions.ts';
import { texts } from './texts.ts';

/** The dialog in which a customer chooses another plan or other seats, and sees what that charges before. */

interface Choice {
  readonly plan_id: string;
  readonly quantity: number;
}

/** What was chosen, with what the preview has shown. */
export interface ChosenPlan extends Choice {
  readonly at: string;
  readonly expected_amount: number;
}

type Preview = (choice: Choice) => Promise<Answer<PlanPreview>>;

const typingMs = 300;

export function choosePlan(subscription: AccountSubscription, preview: Preview): Promise<ChosenPlan | undefined> {
  const dialog = byId('plan', HTMLDialogElement);
  const seats = byId('plan-seats', HTMLInputElement);
  const yes = byId('plan-yes', HTMLButtonElement);
  const ending = new AbortController();
  let chosen: ChosenPlan | undefined;
  let asked = 0;

  byId('plan-title').textContent = filled(texts.planTitle, { name: subscription.name });
  byId('plan-choices').replaceChildren(...choicesOf(subscription));
  const most = subscription.offer?.seats_max ?? null;
  byId('plan-seats-field').hidden = most === null;
  seats.value = String(subscription.quantity);
  seats.max = String(Math.max(most ?? 1, subscription.quantity));
  showPreview(undefined, subscription);

  async function ask(waitMs: number): Promise<void> {
    asked += 1;
    const turn = asked;
    chosen = undefined;
    showPreview(undefined, subscription);
    const choice = choiceOf(subscription, seats);
    if (!choice) return;
    await pauseMs(waitMs);
    if (turn !== asked) return;
    const answer = await preview(choice);
    if (turn !== asked) return;
    if (answer.kind !== 'done') {
      return setText('plan-problem', answer.kind === 'refused' ? answer.problem.message : texts.problem);
    }
    const { at, amount_due: expected_amount } = answer.body;
    chosen = { ...choice, at, expected_amount };
    showPreview(answer.body, subscription);
  }

  const { signal } = ending;
  byId('plan-choices').addEventListener('change', () => void ask(0), { signal });
  seats.addEventListener('input', () => void ask(typingMs), { signal });
  yes.addEventListener('click', () => chosen && dialog.close('yes'), { signal });
  byId('plan-no').addEventListener('click', () => dialog.close(''), { signal });
  dialog.returnValue = '';
  dialog.showModal();
  return new Promise((resolve) => {
    const close = (): void => {
      ending.abort();
      asked += 1;
      resolve(dialog.returnValue === 'yes' ? chosen : undefined);
    };
    dialog.addEventListener('close', close, { once: true });
  });
}

/** The current plan comes first: it is chosen to change only the seats. */
function choicesOf({ offer, plan_id, name, amount, quantity, ...subscription }: AccountSubscription): HTMLElement[] {
  const current = { ...subscription, id: plan_id, name, amount: amount / quantity, when: null };
  return [current, ...(offer?.plans ?? [])].map((plan) => {
    const radio = element('input', { type: 'radio', name: 'plan', value: plan.id });
    radio.checked = plan.when === null;
    const price = filled(texts.price, {
      amount: money(plan.amount, plan.currency),
      period: periodText(plan, texts.period),
    });
    const when = plan.when === null ? texts.planCurrent : texts.planWhen[plan.when];
    return element(
      'label',
      { class: 'plan-choice' },
      radio,
      element('span', {}, element('b', {}, plan.name), element('small', { class: 'muted' }, `${price} · ${when}`)),
    );
  });
}

/** Undefined if nothing differs, or the seats are no number. */
function choiceOf({ plan_id, quantity, offer }: AccountSubscription, seats: HTMLInputElement): Choice | undefined {
  const checked = byId('plan-choices').querySelector<HTMLInputElement>('input:checked');
  const wanted = offer?.seats_max === null ? quantity : Number(seats.value);
  if (!checked || !Number.isInteger(wanted) || wanted < 1 || wanted > Number(seats.max)) return undefined;
  const isSame = checked.value === plan_id && wanted === quantity;
  return isSame ? undefined : { plan_id: checked.value, quantity: wanted };
}

function lineText(type: PlanPreview['lines'][number]['type'], description: string, name: string): string {
  if (type === 'charge') return description;
  return type === 'credit' ? filled(texts.planUnused, { name }) : texts.planDiscount;
}

function showPreview(preview: PlanPreview | undefined, { name, currency }: AccountSubscription): void {
  setText('plan-problem', null);
  const yes = byId('plan-yes', HTMLButtonElement);
  yes.disabled = preview === undefined;
  const due = preview?.amount_due ?? 0;
  yes.textContent = due > 0 ? filled(texts.planPay, { amount: money(due, currency) }) : texts.planButton;
  const rows: (readonly [string, number])[] = [];
  if (preview) {
    const { lines, credit_applied: used, credit_amount: credited, next, when } = preview;
    for (const { description, type, amount } of lines) rows.push([lineText(type, description, name), amount]);
    if (used > 0) rows.push([texts.planCreditUsed, -used]);
    if (credited > 0) rows.push([texts.planCredited, credited]);
    if (when === 'now') rows.push([texts.planDue, due]);
    if (next) rows.push([filled(texts.planNext, { date: dateText(next.date) }), next.total]);
  }
  byId('plan-preview').replaceChildren(
    ...rows.map(([label, amount]) =>
      element(
        'div',
        { class: 'row' },
        element('dt', { class: 'muted' }, label),
        element('dd', {}, money(amount, currency)),
      ),
    ),
  );
  setText('plan-note', preview && texts.planNotes[preview.when]);
}
