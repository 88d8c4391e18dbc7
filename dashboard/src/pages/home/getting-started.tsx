import type { ReactNode } from 'react';
import { unsentEmails } from '../../brand.ts';
import { Icon } from '../../components/icons.tsx';
import { Panel } from '../../components/page.tsx';
import { SampleDataOffer } from '../../components/sample-data.tsx';
import { useGet, useList } from '../../data.ts';
import { useCan, useSignedIn } from '../../session.ts';
import { home } from '../../texts/home.ts';
import type { ApiKey, Customer, Order, PaymentLink, Product, WebhookEndpoint } from '../../types.ts';
import { Link } from '../../routing.tsx';

interface Step {
  readonly text: readonly [title: string, hint: string];
  /** A path of the dashboard, or a page outside of it. Without one, an earlier step has to be done first. */
  readonly to?: string | undefined;
  readonly done?: boolean;
  readonly shown?: boolean;
}

/** With more orders than this, nothing has to be explained. */
const firstOrders = 2;

/** Shown until the first orders exist: the way to be paid without a program, and beside it the way of developers. */
export function GettingStarted() {
  const orders = useList<Order>('/v1/orders', { limit: firstOrders + 1 }, { enabled: useCan('orders:read') });
  const made = orders.data?.data;
  if (!made || made.length > firstOrders) return null;
  return (
    <Panel title={home.start}>
      <div className="grid items-start gap-x-8 gap-y-6 lg:grid-cols-2">
        <ByLink order={made.at(-1)} />
        <ByApi />
      </div>
      {made.length === 0 && <SampleDataOffer />}
    </Panel>
  );
}

const one = { limit: 1 };
const any = (list: { readonly data?: { readonly data: readonly unknown[] } | undefined }): boolean =>
  (list.data?.data.length ?? 0) > 0;

function ByLink({ order }: { order: Order | undefined }) {
  const isSandbox = useSignedIn().company.mode === 'sandbox';
  const links = useList<PaymentLink>('/v1/payment_links', one, { enabled: useCan('payment_links:read') });
  const endpoints = useList<WebhookEndpoint>('/v1/webhook_endpoints', one, {
    enabled: useCan('webhook_endpoints:read'),
  });
  const link = links.data?.data[0];
  const page = link && `/payment-links/${link.id}`;
  const { steps } = home.byLink;
  return (
    <Way title={home.byLink.title} lead={home.byLink.lead}>
      <Steps
        steps={[
          { text: steps.link, to: page ?? '/payment-links/new', done: link !== undefined },
          { text: isSandbox ? steps.pay : steps.share, to: page, done: order !== undefined },
          { text: steps.order, to: order && `/orders/${order.id}` },
          { text: steps.receipt, to: order && '/mailbox', shown: isSandbox && unsentEmails === 'mailbox' },
          { text: steps.webhook, to: order && '/developers/webhooks', done: any(endpoints) },
        ]}
      />
    </Way>
  );
}

function ByApi() {
  const canKeys = useCan('api_keys:read');
  const keys = useGet<{ data: readonly ApiKey[] }>('/dashboard/api_keys', {}, { enabled: canKeys });
  const products = useList<Product>('/v1/products', one, { enabled: useCan('products:read') });
  const customers = useList<Customer>('/v1/customers', one, { enabled: useCan('customers:read') });
  const { steps } = home.byApi;
  return (
    <Way
      title={home.byApi.title}
      lead={
        <>
          {home.byApi.lead}{' '}
          <a href="/docs/quickstart" className="link underline">
            {home.byApi.quickstart}
          </a>
        </>
      }
    >
      <Steps
        steps={[
          { text: steps.key, to: '/developers/api-keys', done: any(keys), shown: canKeys },
          { text: steps.product, to: '/products', done: any(products) },
          { text: steps.customer, to: '/customers', done: any(customers) },
          { text: steps.order, to: '/orders/new' },
        ]}
      />
    </Way>
  );
}

function Way({ title, lead, children }: { title: string; lead: ReactNode; children: ReactNode }) {
  return (
    <section>
      <h3 className="font-semibold">{title}</h3>
      <p className="mb-3 text-muted">{lead}</p>
      {children}
    </section>
  );
}

function Steps({ steps }: { steps: readonly Step[] }) {
  return (
    <ol className="flex flex-col gap-2">
      {steps
        .filter(({ shown = true }) => shown)
        .map((step, index) => (
          <li key={step.text[0]}>
            <StepLink to={step.to}>
              <span
                className={`flex size-8 shrink-0 items-center justify-center rounded-full font-semibold ${step.done ? 'bg-good-soft text-good' : 'bg-accent-soft text-accent-ink'}`}
              >
                {step.done ? <Icon name="check" /> : index + 1}
              </span>
              <span>
                <span className={`block font-medium ${step.done ? 'line-through' : ''}`}>{step.text[0]}</span>
                <span className="block text-sm text-muted">{step.text[1]}</span>
              </span>
            </StepLink>
          </li>
        ))}
    </ol>
  );
}

const stepLook = 'flex h-full items-center gap-3.5 rounded-[8px] border border-line p-3';

function StepLink({ to, children }: { to: string | undefined; children: ReactNode }) {
  if (to === undefined) return <div className={stepLook}>{children}</div>;
  const look = `${stepLook} hover:border-line-strong`;
  if (to === '/mailbox') {
    return (
      <a href={to} target="_blank" rel="noreferrer" className={look}>
        {children}
      </a>
    );
  }
  return (
    <Link to={to} className={look}>
      {children}
    </Link>
  );
}
