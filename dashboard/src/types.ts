/** What the service answers: the public API's types are those of the SDK, the dashboard's own routes are below. */
export type * from '../../sdk/node/src/generated/types/index.ts';

export interface List<T> {
  readonly data: readonly T[];
  readonly url: string;
  readonly has_more: boolean;
  readonly cursors: { readonly next: string | null; readonly previous: string | null };
}

export interface Company {
  readonly id: string;
  readonly account_id: string;
  readonly name: string;
  readonly mode: 'sandbox' | 'live';
  readonly api_version: string;
  readonly role: { readonly id: string; readonly name: string; readonly default_page: string };
  readonly permissions: readonly string[];
}

export interface Session {
  readonly user: {
    readonly id: string;
    readonly email: string;
    readonly first_name: string;
    readonly last_name: string;
    readonly phone_number: string | null;
    readonly totp_enabled: boolean;
  };
  readonly companies: readonly Company[];
  readonly stepped_up_until: string | null;
}

export interface CardWarning {
  readonly operation: string;
  readonly field: string;
  readonly first_seen_at: string;
  readonly last_seen_at: string;
}

export interface SessionEntry {
  readonly id: string;
  readonly created_at: string;
  readonly last_seen_at: string;
  readonly expires_at: string;
  readonly address: string | null;
  readonly user_agent: string | null;
  readonly current: boolean;
}

export interface Invitation {
  readonly company_name: string;
  readonly email: string;
  readonly first_name: string;
  readonly last_name: string;
  readonly role_name: string;
  readonly status: 'pending' | 'active' | 'blocked';
  readonly expired: boolean;
  readonly has_account: boolean;
}

export interface CompanySettings {
  readonly id: string;
  readonly account_id: string;
  readonly name: string;
  readonly mode: 'sandbox' | 'live';
  readonly api_version: string;
  readonly supported_versions: readonly string[];
  readonly dunning_days: readonly number[];
  readonly after_dunning: 'failed' | 'canceled';
  readonly rate_limits: readonly {
    readonly category: string;
    readonly count: number | null;
    readonly window_seconds: number | null;
  }[];
  readonly processor: { readonly kind: 'sandbox' | 'acquirer' | null; readonly url: string | null };
  /** Addresses that the operator lets merchants connect to. */
  readonly acquirers: readonly string[];
  readonly created_at: string;
}

export interface ApiKey {
  readonly id: string;
  readonly name: string;
  readonly kind: 'secret' | 'publishable';
  readonly prefix: string;
  readonly permissions: readonly string[];
  readonly allowed_addresses: readonly string[] | null;
  readonly expires_at: string | null;
  readonly revoked_at: string | null;
  readonly last_used_at: string | null;
  readonly created_at: string;
  readonly status: 'active' | 'expired' | 'revoked';
}

export interface CreatedApiKey extends ApiKey {
  readonly key: string;
  readonly previous_valid_until?: string;
}

export interface PermissionEntry {
  readonly key: string;
  readonly for_keys: boolean;
  /** What it shows beyond its name. */
  readonly note: string | null;
}

export interface RoleEntry {
  readonly id: string;
  readonly name: string;
  readonly description: string;
  readonly default_page: string;
  readonly permissions?: readonly string[];
  readonly custom?: boolean;
}

export interface Statistics {
  readonly currency: string | null;
  readonly currencies: readonly string[];
  readonly days: readonly {
    readonly date: string;
    readonly succeeded_count: number;
    readonly failed_count: number;
    readonly volume: number;
    readonly refunded: number;
  }[];
  readonly totals: {
    readonly volume: number;
    readonly refunded: number;
    readonly succeeded_count: number;
    readonly failed_count: number;
    /** Null where the member may not read them. */
    readonly active_subscriptions: number | null;
    readonly past_due_subscriptions: number | null;
    readonly new_customers: number | null;
  };
  readonly declines: readonly { readonly failure_code: string; readonly count: number }[];
}

export interface InDoubt {
  readonly transaction_id: string;
  readonly order_id: string | null;
  readonly type: string;
  readonly amount: number;
  readonly currency: string;
  readonly since: string;
  readonly age_seconds: number;
  readonly checks: number;
  readonly next_check_at: string | null;
}

export interface Actor {
  readonly kind: string;
  readonly id: string | null;
  readonly name: string | null;
}

export interface AuditEntry {
  readonly id: string;
  readonly action: string;
  readonly object_id: string | null;
  readonly actor: Actor | null;
  readonly address: string | null;
  readonly request_id: string | null;
  /** Names of the fields that were sent. */
  readonly fields: readonly string[];
  readonly created_at: string;
}

export type FoundType = 'customer' | 'order' | 'product' | 'subscription' | 'plan' | 'coupon' | 'event' | 'transaction';

export interface Found {
  readonly type: FoundType;
  readonly id: string;
  readonly title: string;
  readonly subtitle: string | null;
}

export interface TimelineEntry {
  readonly at: string;
  readonly type: string;
  readonly summary: string;
}

export interface BillPreview {
  readonly data: readonly { readonly cycle: number; readonly at: string; readonly amount: number }[];
}
