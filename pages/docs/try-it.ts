import { all, make } from './elements.ts';
import { docsTexts } from './texts.ts';
import { forgetTrialKey, NotSent, trialKey } from './trial-key.ts';

/** Sends a request of the reference to the sandbox of the signed-in member. */

interface TriedCall {
  readonly method: string;
  readonly path: string;
  readonly version: string;
  readonly ids: readonly string[];
  readonly query: readonly string[];
  readonly isKeyed: boolean;
  readonly body?: string;
}

interface TriedRequest {
  readonly address: string;
  readonly body?: string;
}

function requestOf(call: TriedCall, form: HTMLFormElement): TriedRequest {
  const values = new FormData(form);
  const valueOf = (name: string): string => {
    const value = values.get(name);
    return typeof value === 'string' ? value.trim() : '';
  };
  const path = call.path.replaceAll(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(valueOf(`id ${name}`)));
  const query = new URLSearchParams(valueOf('query')).toString();
  const address = query ? `${path}?${query}` : path;
  if (call.body === undefined) return { address };
  const body = valueOf('body');
  try {
    JSON.parse(body);
  } catch {
    throw new NotSent(docsTexts.invalidBody);
  }
  return { address, body };
}

/** The key may have ended. */
async function send(call: TriedCall, form: HTMLFormElement): Promise<string> {
  const request = requestOf(call, form);
  const first = await sendWith((await trialKey()).text, call, request);
  if (first.status !== 401) return first.text;
  forgetTrialKey();
  return (await sendWith((await trialKey()).text, call, request)).text;
}

async function sendWith(
  key: string,
  call: TriedCall,
  { address, body }: TriedRequest,
): Promise<{ readonly status: number; readonly text: string }> {
  const response = await fetch(address, {
    method: call.method,
    // The key decides, not the session.
    credentials: 'omit',
    headers: {
      Authorization: `Bearer ${key}`,
      'SVC-Version': call.version,
      ...(call.isKeyed && { 'X-SVC-Idempotency-Key': crypto.randomUUID() }),
      ...(body !== undefined && { 'Content-Type': 'application/json' }),
    },
    ...(body !== undefined && { body }),
  });
  const text = await response.text();
  const shown = `${call.method} ${address}\n${response.status} ${response.statusText}\n\n${pretty(text)}`;
  return { status: response.status, text: shown };
}

function pretty(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}

const fieldFor = (label: string, control: HTMLElement): HTMLElement => make('label', {}, label, control);

function formOf(call: TriedCall): HTMLFormElement {
  const submit = make('button', { type: 'submit' }, docsTexts.send);
  const status = make('p', { role: 'status' });
  const answer = make('pre', { tabindex: '0', hidden: '' });
  const fields = call.ids.map((name) =>
    fieldFor(name, make('input', { name: `id ${name}`, required: '', autocomplete: 'off', spellcheck: 'false' })),
  );
  if (call.query.length > 0) {
    const placeholder = call.query.includes('limit') ? 'limit=5' : `${call.query[0]}=`;
    fields.push(fieldFor('Query', make('input', { name: 'query', placeholder, autocomplete: 'off' })));
  }
  if (call.body !== undefined) {
    const area = make('textarea', { name: 'body', spellcheck: 'false' });
    area.value = call.body;
    fields.push(fieldFor(docsTexts.body, area));
  }
  const form = make('form', {}, ...fields, submit, make('p', { class: 'note' }, docsTexts.tryNote), status, answer);
  form.addEventListener('submit', (event) => {
    event.preventDefault();
    submit.disabled = true;
    status.textContent = docsTexts.sending;
    send(call, form)
      .then((text) => {
        status.textContent = '';
        answer.textContent = text;
        answer.hidden = false;
      })
      .catch((error: unknown) => {
        status.textContent = error instanceof NotSent ? error.message : docsTexts.noAnswer;
        if (status.textContent === docsTexts.signIn) {
          const next = encodeURIComponent(location.pathname + location.hash);
          status.append(' ', make('a', { href: `/login?next=${next}` }, 'Sign in'));
        }
      })
      .finally(() => {
        submit.disabled = false;
      });
  });
  return form;
}

export function addTryIt(): void {
  for (const place of all('.try')) {
    const button = make('button', { type: 'button' }, docsTexts.tryIt);
    button.addEventListener('click', () => {
      const form = formOf(JSON.parse(place.dataset.call ?? '{}') as TriedCall);
      button.replaceWith(form);
      form.querySelector<HTMLElement>('input, textarea, button')?.focus();
    });
    place.append(button);
  }
}
