import { ApiError, invalidField, notFound } from '../../errors.ts';
import type { Page } from '../../http/lists.ts';
import type { PageRequest } from '../../http/route.ts';
import { type Deletion, mergeMetadata } from '../../http/schemas.ts';
import { isUnchanged } from '../../platform/changed-fields.ts';
import { type Database, type Queryable, violatedConstraint } from '../../platform/database.ts';
import { createdAt, newId } from '../../platform/ids.ts';
import { type ImageLinks, imagesOf } from './image-links.ts';
import {
  findActiveBySku,
  findProduct,
  hardDeleteProduct,
  insertProduct,
  listProducts,
  lockProduct,
  markOrdered,
  type ProductFilters,
  type ProductRow,
  softDeleteProduct,
  updateProduct,
} from './queries.ts';
import { lockChangeableProduct } from './changeable.ts';
import type { Product, ProductCreate, ProductUpdate } from './schemas.ts';
import type { RequestContext } from '../../request-context.ts';

export { addImage, storeImage } from './images.ts';

export { firstImagesOf } from './image-links.ts';
export type { ImageLinks };

/** Whether other features use a product. The checks run inside the transaction that deletes it. */
export interface ProductReferences {
  inActivePlans(db: Database, companyId: string, productId: string): Promise<boolean>;
  inArchivedPlans(db: Database, companyId: string, productId: string): Promise<boolean>;
}

function toWire(row: ProductRow): Product {
  return {
    id: row.id,
    name: row.name,
    description: row.description,
    pricing: { amount: row.amount, currency: row.currency },
    requires_shipping: row.requires_shipping,
    sku: row.sku,
    availability: row.availability,
    category: row.category,
    brand: row.brand,
    material: row.material,
    weight: row.weight,
    return_window: row.return_window,
    inventory_quantity: row.inventory_quantity,
    metadata: row.metadata,
    active: row.active,
    created_at: createdAt(row.id),
    updated_at: row.updated_at.toISOString(),
  };
}

async function refusingDuplicateSku<Result>(work: Promise<Result>): Promise<Result> {
  try {
    return await work;
  } catch (error) {
    if (violatedConstraint(error) !== 'products_sku') throw error;
    throw new ApiError('sku_already_exists', 'Another product has this SKU.', { param: 'sku' });
  }
}

export async function createProduct({ db, company, nowMs }: RequestContext, input: ProductCreate): Promise<Product> {
  const row: ProductRow = {
    id: newId(nowMs),
    name: input.name,
    description: input.description,
    amount: input.pricing.amount,
    currency: input.pricing.currency,
    requires_shipping: input.requires_shipping,
    sku: input.sku,
    availability: input.availability ?? 'in_stock',
    category: input.category ?? null,
    brand: input.brand ?? null,
    material: input.material ?? null,
    weight: input.weight ?? null,
    return_window: input.return_window ?? null,
    inventory_quantity: input.inventory_quantity ?? null,
    metadata: input.metadata ?? {},
    active: true,
    ordered: false,
    updated_at: new Date(nowMs),
    deleted_at: null,
  };
  await refusingDuplicateSku(insertProduct(db, company.id, row));
  return toWire(row);
}

async function withImages(
  { db, company }: RequestContext,
  links: ImageLinks,
  products: readonly Product[],
  wanted: boolean,
): Promise<Product[]> {
  if (!wanted) return [...products];
  const ids = products.map((product) => product.id);
  const images = await imagesOf(db, company.id, links, ids);
  return products.map((product) => ({ ...product, images: images.get(product.id) ?? [] }));
}

export async function getProduct(
  context: RequestContext,
  links: ImageLinks,
  id: string,
  expand: ReadonlySet<string>,
): Promise<Product> {
  const row = await findProduct(context.db, context.company.id, id);
  if (!row) throw notFound('product');
  const [product] = await withImages(context, links, [toWire(row)], expand.has('images'));
  return product ?? toWire(row);
}

/** The IDs of active products by their SKU. */
export const activeBySku = ({ db, company }: RequestContext, skus: readonly string[]): Promise<Map<string, string>> =>
  findActiveBySku(db, company.id, skus);

export async function getProducts(
  context: RequestContext,
  links: ImageLinks,
  filters: ProductFilters,
  page: PageRequest,
  expand: ReadonlySet<string>,
): Promise<Page<Product>> {
  const found = await listProducts(context.db, context.company.id, filters, page);
  return { ...found, items: await withImages(context, links, found.items.map(toWire), expand.has('images')) };
}

/** Locks the product until the transaction ends. */
export async function lockedProduct({ db, company }: RequestContext, id: string): Promise<Product | undefined> {
  const row = await lockProduct(db, company.id, id);
  return row && toWire(row);
}

export async function changeProduct(context: RequestContext, id: string, input: ProductUpdate): Promise<Product> {
  const { db, company, nowMs } = context;
  return db.transaction(async (transaction) => {
    const current = await lockChangeableProduct(transaction, company.id, id);
    const { pricing, metadata, ...plain } = input;
    const row: ProductRow = {
      ...current,
      ...plain,
      amount: pricing?.amount ?? current.amount,
      currency: pricing?.currency ?? current.currency,
      metadata: mergeMetadata(current.metadata, metadata),
      updated_at: new Date(nowMs),
    };
    if (isUnchanged(toWire(current), toWire(row))) return toWire(current);
    await refusingDuplicateSku(updateProduct(transaction, company.id, row));
    return toWire(row);
  });
}

const deleted = (id: string, message: string): Deletion => ({ id, deleted: true, message });

export async function deleteProduct(
  { db, company, nowMs }: RequestContext,
  id: string,
  references: ProductReferences,
): Promise<Deletion> {
  return db.transaction(async (transaction) => {
    const row = await lockProduct(transaction, company.id, id);
    if (!row) throw notFound('product');
    if (row.deleted_at) return deleted(id, 'The product was already deleted.');
    if (await references.inActivePlans(transaction, company.id, id)) {
      throw new ApiError('product_in_active_plans', 'The product is part of an active plan. Archive the plan first.');
    }
    if (row.ordered || (await references.inArchivedPlans(transaction, company.id, id))) {
      await softDeleteProduct(transaction, company.id, id, new Date(nowMs));
      return deleted(id, 'The product was deleted. Past orders are kept.');
    }
    await hardDeleteProduct(transaction, company.id, id);
    return deleted(id, 'The product was deleted.');
  });
}

/** A product that can be ordered, at its price now. */
export async function productToOrder(
  db: Queryable,
  companyId: string,
  id: string,
): Promise<Pick<ProductRow, 'id' | 'name' | 'sku' | 'amount' | 'currency'>> {
  const row = await findProduct(db, companyId, id);
  if (!row || row.deleted_at) throw notFound('product', 'product_id');
  if (!row.active) throw invalidField('product_id', 'is an archived product');
  return row;
}

/** Marks products as ordered, which prevents their deletion. Returns how many exist. */
export async function noteOrdered(db: Queryable, companyId: string, ids: readonly string[]): Promise<number> {
  return markOrdered(db, companyId, ids);
}
