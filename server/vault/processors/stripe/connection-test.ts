import type { Secret } from '../../../platform/secret.ts';
import { jsonOf } from '../exchange.ts';
import type { ConnectionTest } from '../processor.ts';
import type { Client } from './client.ts';
import { lackedPermission, refusedKey } from './answers.ts';
import { type Account, readAccount, readBalance } from './objects.ts';
import { filesCheck, getAccount, getBalance, permissionChecks } from './requests.ts';

const fails = (problem: string): ConnectionTest => ({ outcome: 'fails', problem });

const nameOf = ({ settings, business_profile, email, id }: Account): string =>
  settings?.dashboard?.display_name || business_profile?.name || email || id;

/** What a restricted key lacks of what the connector needs, in the words of Stripe. A secret key lacks nothing. */
async function lackedBy({ send, sendFile }: Client, secretKey: Secret<string>): Promise<readonly string[]> {
  if (!secretKey.reveal().startsWith('rk_')) return [];
  const checks = await Promise.all([...permissionChecks.map((check) => send(check)), sendFile(filesCheck)]);
  return checks.flatMap((answer) => lackedPermission(answer) ?? []);
}

/** Reads the account, which says its name, and the balance, which says whether the key is a live one. */
export async function testConnection(client: Client, secretKey: Secret<string>): Promise<ConnectionTest> {
  const { send } = client;
  const answer = await send(getAccount);
  if ('reason' in answer) return fails(`Stripe did not answer: ${answer.reason}.`);
  if (answer.status === 401) {
    return fails('Stripe does not know this secret key, or it was revoked. Copy it again from Developers, API keys.');
  }
  const lacked = [lackedPermission(answer) ?? [], await lackedBy(client, secretKey)].flat();
  if (lacked.length > 0) {
    const names = [...new Set(lacked)].join(', ');
    return fails(`The restricted key lacks permissions: ${names}. Add them at Stripe under Developers, API keys.`);
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
