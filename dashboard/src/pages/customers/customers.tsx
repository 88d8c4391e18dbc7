import { lazy, Suspense, useState } from 'react';
import { Badge } from '../../components/badge.tsx';
import { Button } from '../../components/button.tsx';
import { Curl } from '../../components/curl.tsx';
import { DateTime } from '../../components/date-time.tsx';
import { Empty } from '../../components/empty.tsx';
import { Page } from '../../components/page.tsx';
import { ResourceTable } from '../../components/resource-table.tsx';
import { type Column, OnPhone } from '../../components/table.tsx';
import { toast } from '../../components/toasts.tsx';
import { useFilters, useOpening } from '../../data.ts';
import { datesFilter, type Filter } from '../../list-filters.ts';
import { personName } from '../../format.ts';
import { useCan } from '../../session.ts';
import { common } from '../../texts/common.ts';
import { customers } from '../../texts/customers.ts';
import { lists } from '../../texts/lists.ts';
import type { Customer } from '../../types.ts';
import { LastOrder, OrderCount, Spend } from './summary.tsx';
import { navigate } from '../../routing.tsx';

// Loaded when a customer is added.
const CustomerForm = lazy(async () => ({ default: (await import('./customer-form.tsx')).CustomerForm }));

const example = { email: 'ada@example.com', first_name: 'Ada', last_name: 'Lovelace', phone: '+15551234567' };

const filters: readonly Filter[] = [
  { kind: 'text', name: 'tags', label: customers.tag },
  datesFilter,
  {
    kind: 'choices',
    single: true,
    name: 'deleted',
    label: customers.showDeleted,
    choices: [{ value: 'true', label: customers.withDeleted }],
  },
];

const orderColumns: readonly Column<Customer>[] = [
  { header: customers.orders, cell: ({ id }) => <OrderCount id={id} />, wide: true, end: true },
  { header: customers.spent, cell: ({ id }) => <Spend id={id} />, end: true },
  { header: customers.lastOrder, cell: ({ id }) => <LastOrder id={id} />, wide: true, end: true },
];

export function CustomersPage() {
  const [{ add }] = useFilters();
  const [adding, setAdding] = useState(add !== undefined);
  useOpening('add', () => setAdding(true));
  const canOrders = useCan('orders:read');
  const reason = useCan('customers:write') ? undefined : common.notAllowed;
  const button = (
    <Button kind="primary" icon="plus" reason={reason} onClick={() => setAdding(true)}>
      {customers.add}
    </Button>
  );
  return (
    <Page title={customers.title} lead={customers.lead} actions={button}>
      <ResourceTable<Customer>
        path="/v1/customers"
        label={customers.title}
        keyOf={({ id }) => id}
        link={({ id }) => `/customers/${id}`}
        search={{ placeholder: lists.searchCustomers }}
        filters={filters}
        exports="customers"
        columns={[
          {
            header: common.name,
            wraps: true,
            cell: (customer) => (
              <>
                {personName(customer)}
                <OnPhone roomy>{customer.email}</OnPhone>
              </>
            ),
          },
          { header: customers.email, cell: ({ email }) => email, wide: true, wraps: true },
          ...(canOrders ? orderColumns : []),
          { header: customers.company, cell: ({ company }) => company ?? '—', wide: true, extra: true },
          {
            header: customers.tags,
            wide: true,
            cell: (customer) => (
              <span className="flex flex-wrap gap-1">
                {customer.deleted && <Badge status="deleted" label={customers.deleted} tone="bad" />}
                {customer.tags.map((tag) => (
                  <Badge key={tag} status={tag} label={tag} tone="calm" />
                ))}
              </span>
            ),
          },
          {
            header: common.created,
            sort: 'created_at',
            cell: ({ created_at }) => <DateTime at={created_at} />,
            wide: true,
            end: true,
          },
        ]}
        empty={
          <Empty title={customers.emptyTitle} actions={button}>
            <p>{customers.empty}</p>
            <Curl path="/v1/customers" body={example} />
          </Empty>
        }
      />
      {adding && (
        <Suspense>
          <CustomerForm
            onClose={() => setAdding(false)}
            onDone={({ id }) => {
              toast(customers.added);
              void navigate({ to: `/customers/${id}` });
            }}
          />
        </Suspense>
      )}
    </Page>
  );
}
