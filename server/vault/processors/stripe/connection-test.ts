import type { Secret } from '../../../platform/secret.ts';
import { jsonOf } from '../exchange.ts';
import type { ConnectionTest } from '../processor.ts';
import type { Client } from './client.ts';
import { refusedKey } from './answers.ts';
import { type Account, readAccount, readBalance } from './objects.ts';
import { getAccount, getBalance } from './requests.ts';

const fails = (problem: string): ConnectionTest => ({ outcome: 'fails', problem });

const nameOf = ({ settings, business_profile, email, id }: Account): string =>
  settings?.dashboard?.display_name || business_profile?.name || email || id;

/** Reads the account, which says its name, and the balance, which says whether the key is a live one. */
export async function testConnection({ send }: Client, secretKey: Secret<string>): Promise<ConnectionTest> {
  const answer = await send(getAccount);
  if ('reason' in answer) return fails(`Stripe did not answer: ${answer.reason}.`);
  if (answer.status === 401) {
    return fails('Stripe does not know this secret key, or it was revoked. Copy it again from Developers, API keys.');
  }
  if (refusedKey(answer)) {
    return fails('The key lacks permissions. Use a secret key, or give the restricted key those that the guide lists.');
  }
  const account = answer.status === 200 ? readAccount(jsonOf(answer)) : undefined;
  if (!account) return fails(`Stripe answered with status ${answer.status}, which does not describe an account.`);
  if (account.charges_enabled === false) {
    return fails('Stripe has not activated payments for this account. Complete the activation in its dashboard.');
  }
  const balanceAnswer = await send(getBalance);
  const balance = 'reason' in balanceAnswer ? undefined : readBalance(jsonOf(balanceAnswer));
  const livemode = balance?.livemode ?? /^[sr]k_live_/.test(secretKey.reveal());
  return { outcome: 'works', account: nameOf(account), accountId: account.id, livemode };
}
