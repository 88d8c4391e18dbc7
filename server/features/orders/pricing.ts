import { type FieldError, notFound, validationError } from '../../errors.ts';
import { limits } from '../../limits.ts';
import type { ProductFacts } from './facts-queries.ts';
import type { OrderCreate, OrderItem } from './schemas.ts';

export interface Priced {
  readonly items: OrderItem[];
  readonly currency: string;
  readonly subtotal: number;
}

/** Merges items with the same product. */
export function mergeItems(items: OrderCreate['items']): { productId: string; quantity: number; index: number }[] {
  const merged = new Map<string, { productId: string; quantity: number; index: number }>();
  items.forEach(({ product_id, quantity }, index) => {
    const productId = product_id.toLowerCase();
    const known = merged.get(productId);
    merged.set(productId, { productId, quantity: quantity + (known?.quantity ?? 0), index: known?.index ?? index });
  });
  return [...merged.values()];
}

/** Prices come from the catalog, in the smallest unit of the currency; no result can exceed the safe integers. */
export function priceItems(input: OrderCreate, products: readonly ProductFacts[]): Priced {
  const problems: FieldError[] = [];
  const refuse = (field: string, message: string) => problems.push({ field, code: 'invalid_value', message });
  const byId = new Map(products.map((product) => [product.id, product]));
  const lines = mergeItems(input.items).map(({ productId, quantity, index }) => {
    const product = byId.get(productId);
    if (!product) throw notFound('product', `items[${index}].product_id`);
    if (!product.active) refuse(`items[${index}].product_id`, 'is an archived product. Choose an active product');
    if (quantity > limits.quantityMax) {
      refuse(`items[${index}].quantity`, `must be at most ${limits.quantityMax} in total for one product`);
    }
    return { product, quantity };
  });
  const currencies = new Set(lines.map(({ product }) => product.currency));
  const [currency = ''] = currencies;
  if (currencies.size > 1) {
    refuse('currency', `must be the same for all products; these have ${[...currencies].toSorted().join(', ')}`);
  } else if (input.currency && input.currency !== currency) {
    refuse('currency', `must be ${currency}, the currency of the products, or omitted`);
  }
  const items = lines.map(({ product, quantity }) => ({
    product_id: product.id,
    quantity,
    name: product.name,
    sku: product.sku,
    unit_price: product.amount,
    total: product.amount * quantity,
  }));
  const subtotal = items.reduce((sum, item) => sum + item.total, 0);
  if (subtotal > limits.orderTotalCentsMax) {
    refuse('items', `must not cost more than ${limits.orderTotalCentsMax} in total`);
  }
  if (problems.length > 0) throw validationError(problems);
  return { items, currency, subtotal };
}
