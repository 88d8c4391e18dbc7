import type { CardToken, Svc as StartSvc, SvcError } from '../src/svc.ts';

/** An example checkout page: mounts the fields, creates a token and sends it to the server. */

declare const Svc: typeof StartSvc;

interface SavedCard {
  readonly customer: string;
  readonly payment_method: unknown;
}

const element = (id: string): HTMLElement => document.getElementById(id) as HTMLElement;
const form = element('checkout') as HTMLFormElement;
const button = element('save') as HTMLButtonElement;
const brandNames: Record<string, string> = {
  visa: 'Visa',
  mastercard: 'Mastercard',
  amex: 'American Express',
  discover: 'Discover',
  diners: 'Diners Club',
  jcb: 'JCB',
  unionpay: 'UnionPay',
  maestro: 'Maestro',
};

const card = Svc(document.body.dataset.publishableKey ?? '')
  .cardFields({ theme: { mode: 'auto', radius: '10px' } })
  .mount('#card');

async function save(token: CardToken): Promise<SavedCard> {
  const response = await fetch('checkout/cards', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ card_token: token.id }),
  });
  const body = (await response.json()) as SavedCard & { error?: { message: string } };
  if (!response.ok) throw new Error(body.error?.message ?? 'The card could not be saved.');
  return body;
}

function show(token: CardToken, saved: SavedCard): void {
  const { brand, last4, exp_month, exp_year } = token.card;
  element('saved-brand').textContent = brandNames[brand] ?? 'Card';
  element('saved-number').textContent = `•••• ${last4}`;
  element('saved-expiry').textContent = `${String(exp_month).padStart(2, '0')} / ${String(exp_year).slice(-2)}`;
  element('saved-token').textContent = token.id;
  element('saved-customer').textContent = saved.customer;
  element('saved-method').textContent = JSON.stringify(saved.payment_method, null, 2);
  form.hidden = true;
  element('saved').hidden = false;
  element('saved').focus();
}

function showProblem(text: string): void {
  element('problem').hidden = text === '';
  element('problem').textContent = text;
}

async function checkOut(): Promise<void> {
  showProblem('');
  button.disabled = true;
  button.textContent = 'Saving …';
  try {
    const name = (element('name') as HTMLInputElement).value.trim();
    const token = await card.createToken(name ? { billing_details: { name } } : {});
    show(token, await save(token));
  } catch (error) {
    // The card fields show their own errors.
    if (!('field_errors' in (error as SvcError))) showProblem((error as Error).message);
  } finally {
    button.disabled = false;
    button.textContent = 'Save card';
  }
}

form.addEventListener('submit', (event) => {
  event.preventDefault();
  void checkOut();
});

element('again').addEventListener('click', () => {
  card.clear();
  element('saved').hidden = true;
  form.hidden = false;
  card.focus();
});
