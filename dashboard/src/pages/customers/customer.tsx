import { useState } from 'react';
import { call } from '../../api.ts';
import { Address } from '../../components/address.tsx';
import { Badge } from '../../components/badge.tsx';
import { Button, LinkButton } from '../../components/button.tsx';
import { Confirm } from '../../components/confirm.tsx';
import { CopyId } from '../../components/copy.tsx';
import { DateTime } from '../../components/date-time.tsx';
import { languageName } from '../../components/language-field.tsx';
import { Notes } from '../../components/notes.tsx';
import { Metadata } from '../../components/metadata.tsx';
import { Facts, LoadWhole, Page, Panel } from '../../components/page.tsx';
import { Table } from '../../components/table.tsx';
import { Timeline } from '../../components/timeline.tsx';
import { toast } from '../../components/toasts.tsx';
import { useGet, useList } from '../../data.ts';
import { money, personName, subscriptionPrice } from '../../format.ts';
import { useCan } from '../../session.ts';
import { common } from '../../texts/common.ts';
import { credit } from '../../texts/credit.ts';
import { customers } from '../../texts/customers.ts';
import type { Customer, Order, Subscription } from '../../types.ts';
import { Cards } from './cards.tsx';
import { balancesText, Credit, useBalances } from './credit.tsx';
import { CustomerForm } from './customer-form.tsx';
import { Value } from './value.tsx';
import { navigate, useParams } from '../../routing.tsx';

export function CustomerPage() {
  const { id = '' } = useParams();
  const path = `/v1/customers/${id}`;
  const query = useGet<Customer>(path);
  return (
    <LoadWhole query={query} path={path}>
      {(customer) => <Details customer={customer} />}
    </LoadWhole>
  );
}

interface EndedLinks {
  readonly deleted_count: number;
}

function Details({ customer }: { customer: Customer }) {
  const [open, setOpen] = useState<'edit' | 'delete' | 'end links'>();
  const reason = useCan('customers:write') ? undefined : common.notAllowed;
  const canCharge = useCan('orders:write');
  const canSubscribe = useCan('subscriptions:write');
  const canEndLinks = useCan('customer_sessions:write') && !customer.deleted;
  const balances = balancesText(useBalances(customer.id) ?? []);
  const [canCards, canOrders, canSubscriptions, canCredit] = [
    useCan('payment_methods:read'),
    useCan('orders:read'),
    useCan('subscriptions:read'),
    useCan('credit:read'),
  ];
  const close = () => setOpen(undefined);
  const address = customer.shipping_address;
  return (
    <Page
      title={personName(customer)}
      badge={customer.deleted && <Badge status="deleted" label={customers.deleted} tone="bad" />}
      lead={customer.email}
      back={{ to: '/customers', label: customers.title }}
      actions={
        !customer.deleted && (
          <>
            {canCharge && (
              <LinkButton to="/orders/new" search={{ customer: customer.id }} kind="primary" icon="plus">
                {customers.newOrder}
              </LinkButton>
            )}
            {canSubscribe && (
              <LinkButton to="/subscriptions/new" search={{ customer: customer.id }}>
                {customers.newSubscription}
              </LinkButton>
            )}
            <Button reason={reason} onClick={() => setOpen('edit')}>
              {common.edit}
            </Button>
            <Button reason={reason} onClick={() => setOpen('delete')}>
              {common.delete}
            </Button>
          </>
        )
      }
    >
      <Value customerId={customer.id} />
      <div className="grid items-start gap-x-10 lg:grid-cols-[3fr_2fr]">
        <div className="min-w-0">
          {canCards && <Cards customerId={customer.id} deleted={customer.deleted} />}
          {canOrders && <OrdersOf customerId={customer.id} />}
          {canSubscriptions && <SubscriptionsOf customerId={customer.id} />}
          {canCredit && <Credit customerId={customer.id} deleted={customer.deleted} />}
        </div>
        <div className="min-w-0">
          <Panel
            title={common.details}
            actions={
              canEndLinks && (
                <Button small onClick={() => setOpen('end links')}>
                  {customers.endLinks}
                </Button>
              )
            }
          >
            <Facts
              facts={[
                [common.id, <CopyId key="id" id={customer.id} />],
                [customers.phone, customer.phone],
                [customers.company, customer.company],
                customer.tax_id !== null && [customers.taxId, customer.tax_id],
                customer.locale !== null && [customers.language, languageName(customer.locale)],
                [customers.tags, customer.tags.join(', ') || '—'],
                address && [customers.shippingAddress, <Address key="address" address={address} />],
                [common.created, <DateTime key="created" at={customer.created_at} />],
                [common.updated, <DateTime key="updated" at={customer.updated_at} />],
              ]}
            />
          </Panel>
          <Metadata metadata={customer.metadata} />
          <Notes of="customer" id={customer.id} />
          <Timeline objectId={customer.id} />
        </div>
      </div>
      {open === 'edit' && <CustomerForm customer={customer} onClose={close} onDone={() => toast(common.saved)} />}
      {open === 'end links' && (
        <Confirm
          title={customers.endLinks}
          confirm={customers.endLinks}
          danger
          send={(key) => call<EndedLinks>('DELETE', `/v1/customers/${customer.id}/customer_sessions`, { key })}
          onDone={({ deleted_count }) => toast(customers.linksEnded(deleted_count))}
          onClose={close}
        >
          {customers.endLinksText}
        </Confirm>
      )}
      {open === 'delete' && (
        <Confirm
          title={customers.delete}
          confirm={common.delete}
          danger
          done={customers.deletedToast}
          send={(key) => call('DELETE', `/v1/customers/${customer.id}`, { key })}
          onDone={() => void navigate({ to: '/customers' })}
          onClose={close}
        >
          {customers.deleteText}
          {balances && ` ${credit.deleteText(balances)}`}
        </Confirm>
      )}
    </Page>
  );
}

function OrdersOf({ customerId }: { customerId: string }) {
  const orders = useList<Order>('/v1/orders', { customer_id: customerId, limit: 10 });
  return (
    <Panel
      title={customers.orders}
      actions={
        (orders.data?.data.length ?? 0) > 0 && (
          <LinkButton small to="/orders" search={{ customer_id: customerId }}>
            {common.seeAll}
          </LinkButton>
        )
      }
    >
      {orders.data?.data.length === 0 ? (
        <p className="py-2 text-muted">{customers.noOrders}</p>
      ) : (
        <Table
          label={customers.orders}
          rows={orders.data?.data}
          keyOf={({ id }) => id}
          link={({ id }) => `/orders/${id}`}
          columns={[
            { header: common.amount, cell: ({ total, currency }) => money(total, currency), sum: true },
            { header: common.status, cell: ({ status }) => <Badge status={status} /> },
            {
              header: customers.orderNumber,
              cell: ({ order_number }) => <span className="font-mono text-[13px]">{order_number}</span>,
              wide: true,
            },
            { header: common.date, cell: ({ created_at }) => <DateTime at={created_at} />, end: true },
          ]}
        />
      )}
    </Panel>
  );
}

function SubscriptionsOf({ customerId }: { customerId: string }) {
  const subscriptions = useList<Subscription>('/v1/subscriptions', { customer_id: customerId, limit: 10 });
  return (
    <Panel
      title={customers.subscriptions}
      actions={
        (subscriptions.data?.data.length ?? 0) > 0 && (
          <LinkButton small to="/subscriptions" search={{ customer_id: customerId }}>
            {common.seeAll}
          </LinkButton>
        )
      }
    >
      {subscriptions.data?.data.length === 0 ? (
        <p className="py-2 text-muted">{customers.noSubscriptions}</p>
      ) : (
        <Table
          label={customers.subscriptions}
          rows={subscriptions.data?.data}
          keyOf={({ id }) => id}
          link={({ id }) => `/subscriptions/${id}`}
          columns={[
            { header: common.name, cell: ({ plan }) => plan.name, wraps: true },
            { header: common.status, cell: ({ status }) => <Badge status={status} /> },
            { header: common.amount, cell: subscriptionPrice, end: true },
          ]}
        />
      )}
    </Panel>
  );
}
