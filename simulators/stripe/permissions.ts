import { type Refusal, refusal } from './rules.ts';

/** What a restricted key may do at the simulated Stripe. */

/** The resource of a path, as the permissions name it. */
const resources: Readonly<Record<string, string>> = {
  account: 'accounts_kyc_basic',
  balance: 'balance',
  balance_transactions: 'balance_transaction_source',
  charges: 'charge',
  customers: 'customer',
  disputes: 'dispute',
  files: 'file',
  payment_intents: 'payment_intent',
  payment_methods: 'payment_method',
  refunds: 'charge',
  setup_intents: 'setup_intent',
};

/** A permission to write includes the one to read. */
export function lackedPermission(
  lacked: readonly string[],
  method: string | undefined,
  resource: string,
): string | undefined {
  const name = resources[resource];
  const wanted = method === 'GET' ? [`rak_${name}_read`] : [`rak_${name}_read`, `rak_${name}_write`];
  const isLacked = name !== undefined && wanted.some((permission) => lacked.includes(permission));
  return isLacked ? wanted.at(-1) : undefined;
}

export const forbidden = (permission: string): Refusal =>
  refusal(
    403,
    "The provided key 'rk_live_*********************0000' does not have the required permissions for this endpoint on " +
      `account 'acct_1'. Having the '${permission}' permission would allow this request to continue.`,
  );
