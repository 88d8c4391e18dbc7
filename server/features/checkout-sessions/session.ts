import type { Company } from '../../company.ts';
import { withLocale } from '../../http/locale.ts';
import { createdAt } from '../../platform/ids.ts';
import type { ServiceKey } from '../../platform/service-keys.ts';
import type { SessionRow } from './queries.ts';
import type { CheckoutSession } from './schemas.ts';

/** The form of a session in the API. */
export function toWire(row: SessionRow, company: Pick<Company, 'mode'>, url: string | null): CheckoutSession {
  return {
    id: row.id,
    mode: row.mode,
    items: [...row.items],
    plan_id: row.plan_id,
    capture: row.capture,
    success_url: row.success_url,
    coupon_code: row.coupon_code,
    allow_coupons: row.allow_coupons,
    collect: [...row.collect],
    metadata: row.metadata,
    status: row.status,
    url,
    customer_id: row.customer_id,
    cancel_url: row.cancel_url,
    locale: row.locale,
    payment_link_id: row.payment_link_id,
    order_id: row.order_id,
    subscription_id: row.subscription_id,
    payment_method_id: row.payment_method_id,
    next_action: row.customer_until
      ? { type: 'confirm_with_bank', expires_at: row.customer_until.toISOString() }
      : null,
    livemode: company.mode === 'live',
    expires_at: row.expires_at.toISOString(),
    completed_at: row.completed_at?.toISOString() ?? null,
    created_at: createdAt(row.id),
    updated_at: row.updated_at.toISOString(),
  };
}

export const aboutToken = ({ company_id, id }: { readonly company_id: string; readonly id: string }): string =>
  `page link ${company_id} ${id}`;

/** The URL of the page, which only an open session has. */
export function urlOf(
  row: Pick<SessionRow, 'company_id' | 'id' | 'sealed_token' | 'mode' | 'locale'>,
  { locale: fallback }: Pick<Company, 'locale'>,
  { baseUrl, linkKey }: { readonly baseUrl: string; readonly linkKey: ServiceKey },
): string | null {
  if (!row.sealed_token) return null;
  const token = linkKey.open(row.sealed_token, aboutToken(row)).toString();
  const page = row.mode === 'setup' ? 'setup' : 'checkout';
  return withLocale(`${baseUrl}/${page}/${token}`, { locale: row.locale, fallback });
}
