import { Icon } from '../../components/icons.tsx';
import { Panel } from '../../components/page.tsx';
import { SampleDataOffer } from '../../components/sample-data.tsx';
import { useGet, useList } from '../../data.ts';
import { useCan } from '../../session.ts';
import { home } from '../../texts/home.ts';
import type { ApiKey, Customer, Order, Product } from '../../types.ts';
import { Link } from '../../routing.tsx';

/** Shown until the first order exists. */
export function GettingStarted() {
  const canKeys = useCan('api_keys:read');
  const one = { limit: 1 };
  const orders = useList<Order>('/v1/orders', one, { enabled: useCan('orders:read') });
  const fresh = orders.data?.data.length === 0;
  const keys = useGet<{ data: readonly ApiKey[] }>('/dashboard/api_keys', {}, { enabled: fresh && canKeys });
  const products = useList<Product>('/v1/products', one, { enabled: useCan('products:read') && fresh });
  const customers = useList<Customer>('/v1/customers', one, { enabled: useCan('customers:read') && fresh });
  if (!fresh) return null;
  const steps = [
    { to: '/developers/api-keys', text: home.steps.key, done: (keys.data?.data.length ?? 0) > 0, shown: canKeys },
    { to: '/products', text: home.steps.product, done: (products.data?.data.length ?? 0) > 0, shown: true },
    { to: '/customers', text: home.steps.customer, done: (customers.data?.data.length ?? 0) > 0, shown: true },
    { to: '/orders/new', text: home.steps.order, done: false, shown: true },
  ].filter(({ shown }) => shown);
  return (
    <Panel title={home.start}>
      <p className="mb-3 text-muted">{home.startLead}</p>
      <ol className="grid gap-3 md:grid-cols-2">
        {steps.map(({ to, text: [title, hint], done }, index) => (
          <li key={to}>
            <Link
              to={to}
              className="flex h-full items-center gap-3.5 rounded-[8px] border border-line p-3.5 hover:border-line-strong"
            >
              <span
                className={`flex size-8 shrink-0 items-center justify-center rounded-full font-semibold ${done ? 'bg-good-soft text-good' : 'bg-accent-soft text-accent-ink'}`}
              >
                {done ? <Icon name="check" /> : index + 1}
              </span>
              <span>
                <span className={`block font-medium ${done ? 'line-through' : ''}`}>{title}</span>
                <span className="block text-sm text-muted">{hint}</span>
              </span>
            </Link>
          </li>
        ))}
      </ol>
      <SampleDataOffer />
    </Panel>
  );
}
