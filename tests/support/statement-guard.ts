import type { Database, DatabasePool } from '../../server/platform/database.ts';

/**
 * Refuses a statement on the wrong server, also where a test has one server for everything: tables of the control plane
 * are used only through its handle, and all others only through the shard of a company. In the service itself the types
 * keep the two apart.
 */

const controlTables = new Set([
  'users',
  'sessions',
  'memberships',
  'api_key_lookups',
  'login_attempts',
  'password_resets',
  'rate_limits',
  'company_shards',
  'draining_shards',
  'service_keys',
  'service_key_copies',
  'key_rotations',
  'key_readers',
]);
/** These are on every server. */
const everywhere = new Set(['schema_migrations', 'compatible_migrations', 'installation', 'secret_checks']);

type Side = 'control' | 'shard';

const checked = new Map<string, Error | undefined>();

function problemOf(side: Side, text: string): Error | undefined {
  const known = `${side} ${text}`;
  if (!checked.has(known)) checked.set(known, check(side, text));
  return checked.get(known);
}

function check(side: Side, text: string): Error | undefined {
  const named = [...text.matchAll(/\b(?:FROM|JOIN|INTO|UPDATE)\s+(?:ONLY\s+)?(?:public\.)?([a-z_]+)\b(?!\s*\()/g)];
  // The names of common table expressions, which may equal those of tables.
  const local = new Set(
    [...text.matchAll(/\b([a-z_]+)\s+AS\s+(?:NOT\s+)?(?:MATERIALIZED\s+)?\(/g)].map(([, name]) => name),
  );
  const tables = named.map(([, name = '']) => name).filter((name) => !local.has(name) && !everywhere.has(name));
  const isForeign = (name: string): boolean =>
    side === 'shard' ? controlTables.has(name) : shardTables.has(name) && !controlTables.has(name);
  const wrong = tables.find(isForeign);
  return wrong === undefined ? undefined : new Error(`${wrong} is not a table of the ${side}: ${text}`);
}

const shardTables = new Set([
  'api_keys',
  'audit_entries',
  'card_tokens',
  'card_warnings',
  'companies',
  'company_gates',
  'company_profiles',
  'consents',
  'coupons',
  'credit_balances',
  'credit_entries',
  'customers',
  'declarations',
  'disputes',
  'email_cursors',
  'email_opt_outs',
  'events',
  'figure_days',
  'figure_marks',
  'figure_states',
  'idempotency_keys',
  'invoice_series',
  'invoice_settings',
  'invoices',
  'mails',
  'notes',
  'open_transactions',
  'orders',
  'payment_methods',
  'plans',
  'processor_connections',
  'products',
  'receipts',
  'requests',
  'restores',
  'roles',
  'saved_views',
  'subscription_changes',
  'subscription_movements',
  'subscriptions',
  'team_members',
  'transactions',
  'webhook_deliveries',
  'webhook_endpoints',
  'workers',
]);

function guardedStatements(side: Side, inner: Database): Database {
  return {
    async query(text, values) {
      const problem = problemOf(side, text);
      if (problem) throw problem;
      return inner.query(text, values);
    },
    transaction: (work) => inner.transaction((transaction) => work(guardedStatements(side, transaction))),
  };
}

/** A pool that refuses what belongs to the other side. */
export const guarded = (side: Side, pool: DatabasePool): DatabasePool => ({
  ...pool,
  ...guardedStatements(side, pool),
  transaction: (work, last) => pool.transaction((transaction) => work(guardedStatements(side, transaction)), last),
});
