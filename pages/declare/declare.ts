import { byId, filled, setSupport, setText } from '../shared/dom.ts';
import { type PageMerchant, showHeader } from '../shared/header.ts';
import { createInput, firstInvalid, type Input } from '../shared/inputs.ts';
import { enterOutcome, leaveOutcome } from '../shared/outcome.ts';
import { type Problem, request, untilAnswered } from '../shared/requests.ts';
import { texts } from './texts.ts';

/** The pages on which a customer cancels a subscription or withdraws from a contract, without signing in. */

interface DeclarationPage {
  readonly livemode: boolean;
  readonly rehearsal: boolean;
  readonly merchant: PageMerchant;
}

const [kindInPath = '', token = ''] = location.pathname.split('/').filter(Boolean).slice(-2);
const words = kindInPath === 'withdraw' ? texts.withdraw : texts.cancel;
const sendTimeoutMs = 60_000;
/** A repeated request is one declaration. `crypto.randomUUID` needs https. */
const requestId = [...crypto.getRandomValues(new Uint8Array(16))]
  .map((byte) => byte.toString(16).padStart(2, '0'))
  .join('')
  .replace(/^(.{8})(.{4}).(.{3}).(.{3})(.{12})$/, '$1-$2-4$3-8$4-$5');

let isBusy = false;
let merchant: PageMerchant;

const required =
  (text: string) =>
  (value: string): string | undefined =>
    value === '' ? text : undefined;

const checks: Readonly<Record<string, (value: string) => string | undefined>> = {
  name: required(texts.nameMissing),
  email: (value) => {
    if (value === '') return texts.emailMissing;
    return /^[^\s@]+@[^\s@]+\.[^\s@]+$/.test(value) ? undefined : texts.emailWrong;
  },
  contract: required(texts.contractMissing),
  message: () => undefined,
};
const inputs: readonly Input[] = Object.entries(checks).map(([id, check]) => createInput(id, check));
const valueOf = (id: string): string => inputs.find(({ name }) => name === id)?.value() ?? '';

async function load(): Promise<void> {
  const answer = await untilAnswered(() => request<DeclarationPage>(`${token}/company`), showAway, true);
  if (answer.kind === 'refused') {
    return enterOutcome('unknown', { symbol: 'clock', title: texts.unknownTitle, text: texts.unknown, isAlone: true });
  }
  const { livemode, rehearsal } = answer.body;
  ({ merchant } = answer.body);
  const values = { merchant: merchant.name };
  const title = filled(words.pageTitle, values);
  showHeader(merchant, { livemode, mode: rehearsal && texts.rehearsal, title, back: { url: null, label: '' } });
  byId('headline').textContent = words.headline;
  byId('lead').textContent = filled(words.lead, values);
  byId('send-text').textContent = words.confirm;
  setSupport('form-support', texts.support, merchant);
  leaveOutcome();
  byId('form').hidden = false;
}

function setBusy(next: boolean): void {
  isBusy = next;
  const button = byId('send', HTMLButtonElement);
  button.disabled = next;
  button.classList.toggle('busy', next);
  byId('send-text').textContent = next ? texts.sending : words.confirm;
}

function showProblem(text: string | null): void {
  setText('banner-text', text);
  byId('banner').hidden = !text;
  if (text) byId('banner').focus();
}

function onRefused({ status, retryAfter, field_errors }: Problem): void {
  const wrong = inputs.filter(({ name }) => field_errors.some(({ field }) => field === name));
  for (const input of wrong) input.showError(texts.fieldRefused);
  if (wrong[0]) return wrong[0].control.focus();
  showProblem(status === 429 ? filled(texts.tooMany, { seconds: retryAfter ?? 30 }) : texts.problem);
}

async function send(): Promise<void> {
  showProblem(null);
  const wrong = firstInvalid(inputs);
  if (wrong) return wrong.control.focus();
  setBusy(true);
  const message = valueOf('message');
  const body = {
    ...{ request: requestId, name: valueOf('name'), email: valueOf('email'), contract: valueOf('contract') },
    ...(message && { message }),
  };
  const answer = await untilAnswered(
    () => request<{ readonly email: string; readonly time: string }>(`${token}/declarations`, body, sendTimeoutMs),
    () => showProblem(texts.away),
  );
  setBusy(false);
  showProblem(null);
  if (answer.kind === 'refused') return onRefused(answer.problem);
  byId('form').hidden = true;
  enterOutcome('received', {
    symbol: 'tick',
    title: words.doneTitle,
    text: filled(words.done, { ...answer.body, merchant: merchant.name }),
    support: { text: texts.support, merchant },
    isAlone: true,
  });
}

function showAway(): void {
  enterOutcome('away', { symbol: 'cloud', title: texts.awayTitle, text: texts.away, canRetry: true, isAlone: true });
}

byId('form').addEventListener('submit', (event) => {
  event.preventDefault();
  if (!isBusy) void send();
});
byId('outcome-retry').addEventListener('click', () => dispatchEvent(new Event('online')));
void load();
