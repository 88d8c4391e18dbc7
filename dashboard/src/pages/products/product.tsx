import { useState } from 'react';
import { call, changeField } from '../../api.ts';
import { Badge } from '../../components/badge.tsx';
import { Button } from '../../components/button.tsx';
import { Confirm } from '../../components/confirm.tsx';
import { CopyId } from '../../components/copy.tsx';
import { DateTime } from '../../components/date-time.tsx';
import { useAction } from '../../components/form.tsx';
import { Metadata } from '../../components/metadata.tsx';
import { Facts, LoadWhole, Page, Panel } from '../../components/page.tsx';
import { toast } from '../../components/toasts.tsx';
import { useGet } from '../../data.ts';
import { money } from '../../format.ts';
import { useCan } from '../../session.ts';
import { common } from '../../texts/common.ts';
import { products } from '../../texts/products.ts';
import type { Product } from '../../types.ts';
import { Images } from './images.tsx';
import { ProductForm } from './product-form.tsx';
import { navigate, useParams } from '../../routing.tsx';

export function ProductPage() {
  const { id = '' } = useParams();
  const path = `/v1/products/${id}`;
  const query = useGet<Product>(path, { expand: 'images' });
  return (
    <LoadWhole query={query} path={path}>
      {(product) => <Details product={product} />}
    </LoadWhole>
  );
}

function Details({ product }: { product: Product }) {
  const [open, setOpen] = useState<'edit' | 'delete'>();
  const reason = useCan('products:write') ? undefined : common.notAllowed;
  const close = () => setOpen(undefined);
  const path = `/v1/products/${product.id}`;
  const archive = useAction<boolean, Product>({
    tells: true,
    send: (active, key) => changeField(path, 'active', active, key),
    onDone: ({ active }) => toast(active ? products.activeToast : products.archivedToast),
  });
  return (
    <Page
      title={product.name}
      badge={
        product.active ? <Badge status={product.availability} /> : <Badge status="archived" label={products.archived} />
      }
      lead={money(product.pricing.amount, product.pricing.currency)}
      back={{ to: '/products', label: products.title }}
      actions={
        <>
          <Button reason={reason} onClick={() => setOpen('edit')}>
            {common.edit}
          </Button>
          <Button reason={reason} busy={archive.busy} onClick={() => void archive.run(!product.active)}>
            {product.active ? products.archive : products.unarchive}
          </Button>
          <Button reason={reason} onClick={() => setOpen('delete')}>
            {common.delete}
          </Button>
        </>
      }
    >
      <div className="grid items-start gap-x-10 lg:grid-cols-[3fr_2fr]">
        <Images product={product} reason={reason} />
        <div className="min-w-0">
          <Panel title={common.details}>
            <Facts
              facts={[
                [common.id, <CopyId key="id" id={product.id} />],
                [products.sku, <CopyId key="sku" id={product.sku} whole />],
                product.description !== null && [common.description, product.description],
                [products.inventory, product.inventory_quantity ?? '—'],
                [products.requiresShipping, product.requires_shipping ? common.yes : common.no],
                product.category !== null && [products.category, product.category],
                product.brand !== null && [products.brand, product.brand],
                product.material !== null && [products.material, product.material],
                product.weight !== null && [products.weight, product.weight],
                product.return_window !== null && [products.returnWindow, product.return_window],
                [common.created, <DateTime key="created" at={product.created_at} />],
              ]}
            />
          </Panel>
          <Metadata metadata={product.metadata} />
        </div>
      </div>
      {open === 'edit' && <ProductForm product={product} onClose={close} onDone={() => toast(common.saved)} />}
      {open === 'delete' && (
        <Confirm
          title={products.delete}
          confirm={common.delete}
          danger
          done={products.deleted}
          send={(key) => call('DELETE', path, { key })}
          onDone={() => void navigate({ to: '/products' })}
          onClose={close}
        >
          {products.deleteText}
        </Confirm>
      )}
    </Page>
  );
}
