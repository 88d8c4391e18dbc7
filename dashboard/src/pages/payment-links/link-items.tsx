import type { ReactNode } from 'react';
import { CopyId } from '../../components/copy.tsx';
import { useGet, useGetAll } from '../../data.ts';
import { money, priceText } from '../../format.ts';
import { useCan } from '../../session.ts';
import type { PaymentLink, Plan, Product } from '../../types.ts';
import { Link } from '../../routing.tsx';

/** Until the prices are there, and for members who cannot read them. */
const unknown = '–';

/** What a link sells, and what it costs today. Prices come from the catalog. */
export function useSold({ items, plan_id }: PaymentLink): { readonly sold: ReactNode; readonly total: string } {
  const canReadPlans = useCan('plans:read');
  const canReadProducts = useCan('products:read');
  const { data: plan } = useGet<Plan>(`/v1/plans/${plan_id}`, {}, { enabled: plan_id !== null && canReadPlans });
  const products = useGetAll<Product>(
    items.map(({ product_id }) => `/v1/products/${product_id}`),
    { enabled: canReadProducts },
  ).map(({ data }) => data);
  if (plan_id) {
    return { sold: <SoldPlan id={plan_id} plan={plan} />, total: plan ? priceText(plan, plan.billing_cycle) : unknown };
  }
  const lines = items.map((item, index) => ({ ...item, product: products[index] }));
  const sold = (
    <ul>
      {lines.map(({ product_id, quantity, product }) => (
        <li key={product_id}>
          {quantity} × <SoldProduct id={product_id} product={product} />
        </li>
      ))}
    </ul>
  );
  const sum = lines.reduce((total, { product, quantity }) => total + (product?.pricing.amount ?? NaN) * quantity, 0);
  return { sold, total: Number.isNaN(sum) ? unknown : money(sum, products[0]?.pricing.currency) };
}

function SoldPlan({ id, plan }: { id: string; plan: Plan | undefined }) {
  if (!plan) return <CopyId id={id} />;
  return (
    <Link to={`/plans/${id}`} className="link">
      {plan.name}, {priceText(plan, plan.billing_cycle)}
    </Link>
  );
}

function SoldProduct({ id, product }: { id: string; product: Product | undefined }) {
  if (!product) return <CopyId id={id} />;
  return (
    <Link to={`/products/${id}`} className="link">
      {product.name}, {money(product.pricing.amount, product.pricing.currency)}
    </Link>
  );
}
