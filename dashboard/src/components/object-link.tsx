import { shortId } from '../format.ts';
import { TextLink } from './button.tsx';
import { CopyId } from './copy.tsx';

/** Where the page of each kind of object is. */
const pages: Readonly<Record<string, string>> = {
  order: '/orders',
  customer: '/customers',
  product: '/products',
  plan: '/plans',
  coupon: '/coupons',
  subscription: '/subscriptions',
  transaction: '/transactions',
  dispute: '/disputes',
  payment_link: '/payment-links',
  webhook_endpoint: '/developers/webhooks',
};

/** Pages that show all objects of a kind. */
const lists: Readonly<Record<string, string>> = {
  team_member: '/team',
  role: '/roles',
  api_key: '/developers/api-keys',
};

/** An object by its name, with a link to its page if there is one. */
export function ObjectLink({ type, id, name }: { type: string | undefined; id: string; name?: string | undefined }) {
  const page = pages[type ?? ''];
  const to = page ? `${page}/${id}` : lists[type ?? ''];
  if (!to) return <CopyId id={id} />;
  return (
    <TextLink to={to}>
      <span className="wrap-anywhere">{name ?? shortId(id)}</span>
    </TextLink>
  );
}

const text = (value: unknown): string | undefined => (typeof value === 'string' && value !== '' ? value : undefined);

/** What people call an object of the API: as the title of its page. A subscription has the name of its plan. */
export function nameOf(object: Readonly<Record<string, unknown>>): string | undefined {
  const { plan } = object;
  if (plan && typeof plan === 'object' && 'name' in plan) return text(plan.name);
  const person = [text(object.first_name), text(object.last_name)].filter(Boolean).join(' ');
  return text(object.order_number) ?? text(object.name) ?? (person || text(object.email) || text(object.url));
}

/** `/v1/orders/019c…/refund` is about an order. */
export function objectOfPath(path: string): { type: string; id: string } | undefined {
  const [, collection = '', id = ''] = /^\/(?:v1|dashboard)\/(\w+)\/([0-9a-f-]{36})/.exec(path) ?? [];
  const type = collection.replace(/s$/, '');
  return id && (pages[type] || lists[type]) ? { type, id } : undefined;
}
