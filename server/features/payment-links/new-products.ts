import { randomBytes } from 'node:crypto';
import { invalidField } from '../../errors.ts';
import { requirePermissions } from '../../http/caller.ts';
import type { RequestContext } from '../../request-context.ts';
import type { CheckoutSessionCreate } from '../checkout-sessions/schemas.ts';
import { createProduct } from '../products/service.ts';
import type { NewProduct, PaymentLinkItemInput } from './schemas.ts';

/** Products that are created together with a payment link, from a name and a price. */

type Items = NonNullable<CheckoutSessionCreate['items']>;

/** Returns the items with the IDs of their products. */
export async function productsOf(context: RequestContext, items: readonly PaymentLinkItemInput[]): Promise<Items> {
  const made: Items = [];
  for (const [index, { product, product_id, ...rest }] of items.entries()) {
    const place = `items[${index}]`;
    if (product && product_id) throw invalidField(`${place}.product`, 'must be omitted if product_id is set');
    if (!product && !product_id) {
      throw invalidField(`${place}.product_id`, 'is required unless product is set', 'required_field');
    }
    const id = product ? await createNew(context, product, `${place}.product`) : product_id;
    made.push({ ...rest, product_id: id ?? '' });
  }
  return made;
}

async function createNew(context: RequestContext, product: NewProduct, param: string): Promise<string> {
  requirePermissions(context.caller, ['products:write'], 'a new product requires', param);
  const { name, pricing, requires_shipping = false } = product;
  const { id } = await createProduct(context, {
    name,
    description: null,
    pricing,
    requires_shipping,
    sku: skuOf(name),
  });
  return id;
}

/** `House Blend, 250 g` → `house-blend-250-g-5f0c2a9e`. The end makes it unique: the same name may be sold twice. */
function skuOf(name: string): string {
  const words = name
    .normalize('NFKD')
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
    .slice(0, 40)
    .replaceAll(/^-+|-+$/g, '');
  return `${words || 'product'}-${randomBytes(4).toString('hex')}`;
}
