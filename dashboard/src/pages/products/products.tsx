import { lazy, Suspense, useState } from 'react';
import { changeField } from '../../api.ts';
import { BulkChange } from '../../components/bulk-change.tsx';
import { Badge } from '../../components/badge.tsx';
import { Button } from '../../components/button.tsx';
import { Curl } from '../../components/curl.tsx';
import { DateTime } from '../../components/date-time.tsx';
import { Icon } from '../../components/icons.tsx';
import { Empty } from '../../components/empty.tsx';
import { Page } from '../../components/page.tsx';
import { ResourceTable } from '../../components/resource-table.tsx';
import { toast } from '../../components/toasts.tsx';
import { currencyFilter, type Filter } from '../../list-filters.ts';
import { lists } from '../../texts/lists.ts';
import { money } from '../../format.ts';
import { useOpening } from '../../data.ts';
import { useCan } from '../../session.ts';
import { bulk } from '../../texts/bulk.ts';
import { common } from '../../texts/common.ts';
import { products } from '../../texts/products.ts';
import type { Product } from '../../types.ts';
import { navigate } from '../../routing.tsx';

// Loaded when a product is added.
const ProductForm = lazy(async () => ({ default: (await import('./product-form.tsx')).ProductForm }));

const example = {
  name: 'Tea pot',
  description: 'Holds six cups.',
  pricing: { amount: 4900, currency: 'usd' },
  requires_shipping: true,
  sku: 'tea-pot-6',
};

const filters: readonly Filter[] = [
  {
    kind: 'choices',
    single: true,
    name: 'active',
    label: common.status,
    choices: [
      { value: 'true', label: products.active },
      { value: 'false', label: products.archived },
    ],
  },
  currencyFilter,
];

export function ProductsPage() {
  const [adding, setAdding] = useState(false);
  useOpening('add', () => setAdding(true));
  const reason = useCan('products:write') ? undefined : common.notAllowed;
  const button = (
    <Button kind="primary" icon="plus" reason={reason} onClick={() => setAdding(true)}>
      {products.add}
    </Button>
  );
  return (
    <Page title={products.title} lead={products.lead} actions={button}>
      <ResourceTable<Product>
        path="/v1/products"
        query={{ expand: 'images' }}
        label={products.title}
        keyOf={({ id }) => id}
        link={({ id }) => `/products/${id}`}
        search={{ placeholder: lists.searchProducts }}
        filters={filters}
        exports="products"
        bulk={(selected, done) => (
          <BulkChange
            rows={selected.filter(({ active }) => active)}
            label={bulk.archive}
            title={bulk.archiveTitle}
            nameOf={({ name }) => name}
            reason={reason}
            send={({ id }) => changeField(`/v1/products/${id}`, 'active', false)}
            onDone={done}
          />
        )}
        columns={[
          {
            header: common.name,
            sort: 'name',
            wraps: true,
            cell: ({ name, images }) => (
              <span className="flex items-center gap-3">
                {images?.[0] ? (
                  <img
                    src={images[0].url}
                    alt=""
                    className="size-9 shrink-0 rounded-[6px] border border-line object-cover"
                  />
                ) : (
                  <span
                    aria-hidden="true"
                    className="inline-flex size-9 shrink-0 items-center justify-center rounded-[6px] bg-sunken text-muted"
                  >
                    <Icon name="products" />
                  </span>
                )}
                {name}
              </span>
            ),
          },
          {
            header: products.price,
            sort: 'amount',
            cell: ({ pricing }) => money(pricing.amount, pricing.currency),
            end: true,
          },
          { header: products.sku, cell: ({ sku }) => <span className="font-mono text-[13px]">{sku}</span>, wide: true },
          {
            header: products.availability,
            wide: true,
            cell: (product) =>
              product.active ? (
                <Badge status={product.availability} />
              ) : (
                <Badge status="archived" label={products.archived} />
              ),
          },
          {
            header: common.created,
            sort: 'created_at',
            cell: ({ created_at }) => <DateTime at={created_at} />,
            end: true,
            wide: true,
          },
        ]}
        empty={
          <Empty title={products.emptyTitle} actions={button}>
            <p>{products.empty}</p>
            <Curl path="/v1/products" body={example} keyed />
          </Empty>
        }
      />
      {adding && (
        <Suspense>
          <ProductForm
            onClose={() => setAdding(false)}
            onDone={({ id }) => {
              toast(products.added);
              void navigate({ to: `/products/${id}` });
            }}
          />
        </Suspense>
      )}
    </Page>
  );
}
