// Made by sdk/node/generate.ts from the OpenAPI document. Change the routes, and run it again.

import type { Metadata, MetadataPatch } from './customers.ts';

export interface PricingInput {
  /** Price in cents. */
  amount: number;
  /** Lowercase ISO 4217 code. */
  currency: string;
}

export type ProductAvailability = 'in_stock' | 'out_of_stock' | 'preorder';

export interface ProductCreate {
  /** HTML is not allowed. */
  name: string;
  description: string | null;
  pricing: PricingInput;
  requires_shipping: boolean;
  /** Unique per merchant: lowercase letters, digits, hyphens and underscores. */
  sku: string;
  /** Default: `'in_stock'`. */
  availability?: ProductAvailability | undefined;
  category?: string | null | undefined;
  brand?: string | null | undefined;
  material?: string | null | undefined;
  weight?: string | null | undefined;
  /** Days in which it can be returned. */
  return_window?: number | null | undefined;
  inventory_quantity?: number | null | undefined;
  metadata?: Metadata | null | undefined;
}

export interface Pricing {
  /** Price in cents. */
  amount: number;
  /** Lowercase ISO 4217 code. */
  currency: string;
}

export interface ProductImage {
  id: string;
  product_id: string;
  /** Presigned link, valid 10 minutes from when it was returned. */
  url: string;
  /** Display order, 0 is first. */
  order: number;
  created_at: string;
}

export interface Product {
  id: string;
  name: string;
  description: string | null;
  pricing: Pricing;
  requires_shipping: boolean;
  sku: string;
  availability: ProductAvailability;
  category: string | null;
  brand: string | null;
  material: string | null;
  weight: string | null;
  /** Days in which it can be returned. */
  return_window: number | null;
  inventory_quantity: number | null;
  /** With `expand=images`. */
  images?: ProductImage[];
  metadata: Metadata;
  /** `false` means archived. */
  active: boolean;
  created_at: string;
  updated_at: string;
}

export interface PricingUpdate {
  /** Price in cents. */
  amount?: number | undefined;
  /** Lowercase ISO 4217 code. */
  currency?: string | undefined;
}

export interface ProductUpdate {
  /** HTML is not allowed. */
  name?: string | undefined;
  description?: string | null | undefined;
  pricing?: PricingUpdate | undefined;
  requires_shipping?: boolean | undefined;
  /** Unique per merchant: lowercase letters, digits, hyphens and underscores. */
  sku?: string | undefined;
  availability?: ProductAvailability | undefined;
  category?: string | null | undefined;
  brand?: string | null | undefined;
  material?: string | null | undefined;
  weight?: string | null | undefined;
  /** Days in which it can be returned. */
  return_window?: number | null | undefined;
  inventory_quantity?: number | null | undefined;
  metadata?: MetadataPatch | null | undefined;
  /** `false` archives the product. */
  active?: boolean | undefined;
}

export interface DeletedProduct {
  id: string;
  deleted: true;
  message: string;
}

export interface DeletedImage {
  id: string;
  deleted: true;
  message: string;
}

export interface ProductImagesReorder {
  /** All images of the product; the position in the array is the new `order`. */
  image_ids: readonly string[];
}

export interface ProductImageOrder {
  id: string;
  order: number;
}

export interface ProductImageOrders {
  data: ProductImageOrder[];
}

export interface ProductExpansions {
  images: ProductImage[];
}

export interface ListProductsParams {
  /** How many objects a page has. Default: `10`. */
  limit?: number | undefined;
  /** Gives the page after the object with this id. */
  starting_after?: string | undefined;
  /** Gives the page before the object with this id. */
  ending_before?: string | undefined;
  /** Order of the list, by created_at or updated_at or name or amount; `field` and `field[asc]` ascend, `-field` and `field[desc]` descend. Default: `'created_at[desc]'`. */
  sort?: 'created_at' | '-created_at' | 'created_at[asc]' | 'created_at[desc]' | 'updated_at' | '-updated_at' | 'updated_at[asc]' | 'updated_at[desc]' | 'name' | '-name' | 'name[asc]' | 'name[desc]' | 'amount' | '-amount' | 'amount[asc]' | 'amount[desc]' | undefined;
  /** Only active, or only archived products. */
  active?: boolean | undefined;
  created_at?: { gt?: string | undefined; gte?: string | undefined; lt?: string | undefined; lte?: string | undefined } | undefined;
}
