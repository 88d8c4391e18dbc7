import { docsTexts } from './texts.ts';

/** A key of the sandbox for the signed-in member. The service creates it when it is first needed. */

interface KnownSession {
  readonly companies: readonly { readonly id: string; readonly mode: 'sandbox' | 'live' }[];
}

/** Why a request was not sent, in words for the reader. */
export class NotSent extends Error {}

interface TrialKey {
  readonly text: string;
  readonly untilMs: number;
}

// Only in memory: a reload forgets it.
let known: TrialKey | undefined;

export function forgetTrialKey(): void {
  known = undefined;
}

export async function trialKey(): Promise<TrialKey> {
  if (known && known.untilMs > Date.now()) return known;
  const session = await fetch('/dashboard/session');
  if (session.status === 401) throw new NotSent(docsTexts.signIn);
  const { companies } = (await session.json()) as KnownSession;
  const chosen = sessionStorage.getItem('svc.company') ?? localStorage.getItem('svc.company');
  const sandboxes = companies.filter(({ mode }) => mode === 'sandbox');
  const company = sandboxes.find(({ id }) => id === chosen) ?? sandboxes[0];
  if (!company) throw new NotSent(docsTexts.noSandbox);
  const made = await fetch('/dashboard/api_keys/trial', { method: 'POST', headers: { 'SVC-Company': company.id } });
  const answer = (await made.json()) as { key: string; expires_at: string; error?: { message: string } };
  if (!made.ok) throw new NotSent(answer.error?.message ?? docsTexts.noAnswer);
  known = { text: answer.key, untilMs: Date.parse(answer.expires_at) };
  return known;
}
