import assert from 'node:assert/strict';

/** The customer at the page of a simulated bank. */

export type Choice =
  | 'pass'
  | 'fail'
  | 'back'
  | 'close'
  | 'pass_and_close'
  | 'fail_and_close'
  | 'pass_later'
  | 'fail_later'
  | 'forge';

/** Opens the page and chooses. Returns the parameters with which the customer comes back; undefined if they do not. */
export async function answerBank(url: string, choice: Choice): Promise<Record<string, string> | undefined> {
  const page = await fetch(url, { redirect: 'manual' });
  const html = await page.text();
  assert.ok(page.status === 303 || html.includes(`value="${choice}"`), `${page.status} ${html}`);
  const body = new URLSearchParams({ choice });
  const answer = await fetch(url, { method: 'POST', body, redirect: 'manual' });
  await answer.text();
  const location = answer.headers.get('location');
  return answer.status === 303 && location ? Object.fromEntries(new URL(location).searchParams) : undefined;
}
