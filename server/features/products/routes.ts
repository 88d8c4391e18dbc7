import { createdAtFilters, listSchema } from '../../http/lists.ts';
import { booleanParameter, currenciesParameter, textParameter } from '../../http/query-parameters.ts';
import { defineList, defineRoute, type Route } from '../../http/route.ts';
import { deletion } from '../../http/schemas.ts';
import { limits } from '../../limits.ts';
import type { ImageLinks } from './image-links.ts';
import { addImage, removeImage, reorderImages, storeImage } from './images.ts';
import { imageOrders, imagesReorder, product, productCreate, productImage, productUpdate } from './schemas.ts';
import {
  changeProduct,
  createProduct,
  deleteProduct,
  getProduct,
  getProducts,
  type ProductReferences,
  lockedProduct,
} from './service.ts';

const common = { tag: 'Products', resource: 'product' } as const;
const fields = { name: 'products', schema: product };
const writes = { permission: 'products:write', category: 'write' } as const;
const reads = { permission: 'products:read', category: 'read', idempotency: 'none' } as const;

export function productRoutes(references: ProductReferences, links: ImageLinks): Route[] {
  return [
    defineRoute({
      ...common,
      ...writes,
      method: 'POST',
      path: '/v1/products',
      operationId: 'createProduct',
      summary: 'Create a product',
      idempotency: 'required',
      body: productCreate,
      bodyExample: {
        name: 'Tea pot',
        description: 'Holds six cups.',
        pricing: { amount: 4900, currency: 'usd' },
        requires_shipping: true,
        sku: 'tea-pot-6',
      },
      success: { status: 201, schema: product, shape: 'resource' },
      errors: ['sku_already_exists'],
      handle: ({ context, body }) => createProduct(context, body),
    }),
    defineList({
      ...common,
      permission: 'products:read',
      path: '/v1/products',
      operationId: 'listProducts',
      summary: 'List products',
      description: 'Deleted products are not listed.',
      expand: { images: 'products:read' },
      fields,
      sorts: ['updated_at', 'name', 'amount'],
      filters: {
        q: textParameter(limits.searchLength, 'Only products with this text in name, SKU, category or brand.'),
        currency: currenciesParameter,
        active: booleanParameter('`true` for active products, `false` for archived ones.'),
        ...createdAtFilters,
      },
      success: { status: 200, schema: listSchema('ProductList', product, '/v1/products'), shape: 'list' },
      errors: [],
      handle: ({ context, query, page, expand }) => getProducts(context, links, query, page, expand),
    }),
    defineRoute({
      ...common,
      ...reads,
      method: 'GET',
      path: '/v1/products/:id',
      operationId: 'getProduct',
      summary: 'Retrieve a product',
      expand: { images: 'products:read' },
      fields,
      version: productUpdate,
      success: { status: 200, schema: product, shape: 'resource' },
      errors: [],
      handle: ({ context, params, expand }) => getProduct(context, links, params.id ?? '', expand),
    }),
    defineRoute({
      ...common,
      ...writes,
      method: 'PATCH',
      path: '/v1/products/:id',
      operationId: 'updateProduct',
      summary: 'Update a product',
      description:
        'Omitted fields keep their value. `active: false` archives the product, so that it cannot be ordered.',
      idempotency: 'required',
      body: productUpdate,
      bodyExample: { pricing: { amount: 5200 }, active: true },
      success: { status: 200, schema: product, shape: 'resource' },
      errors: ['sku_already_exists', 'invalid_request'],
      current: ({ context, params }) => lockedProduct(context, params.id ?? ''),
      handle: ({ context, params, body }) => changeProduct(context, params.id ?? '', body),
    }),
    defineRoute({
      ...common,
      ...writes,
      method: 'DELETE',
      path: '/v1/products/:id',
      operationId: 'deleteProduct',
      summary: 'Delete a product',
      description:
        'A product with orders or archived plans is archived, and its SKU becomes available. Any other product is removed.',
      idempotency: 'optional',
      success: { status: 200, schema: deletion('product'), shape: 'other' },
      errors: ['product_in_active_plans'],
      handle: ({ context, params }) => deleteProduct(context, params.id ?? '', references),
    }),
    defineRoute({
      ...common,
      ...writes,
      method: 'POST',
      path: '/v1/products/:id/images',
      operationId: 'uploadProductImage',
      summary: 'Upload an image',
      description:
        `JPEG, PNG or GIF of at most ${limits.imageBytes / 1024 / 1024} MB; at most ${limits.imagesPerProduct} per ` +
        'product. Metadata such as the place and time of a photo is removed.',
      idempotency: 'optional',
      upload: { field: 'file', maxBytes: limits.imageBytes, description: 'A JPEG, PNG or GIF file.' },
      success: { status: 201, schema: productImage, shape: 'resource' },
      errors: ['invalid_request'],
      prepare: ({ context, params, file }) => storeImage(context, links, params.id ?? '', file),
      handle: ({ context, params, prepared }) => addImage(context, links, params.id ?? '', prepared),
    }),
    defineRoute({
      ...common,
      ...writes,
      method: 'DELETE',
      path: '/v1/products/:id/images/:imageId',
      operationId: 'deleteProductImage',
      summary: 'Delete an image',
      description: 'The images after it move up.',
      idempotency: 'optional',
      success: { status: 200, schema: deletion('image'), shape: 'other' },
      errors: ['invalid_request'],
      handle: ({ context, params }) => removeImage(context, params.id ?? '', params.imageId ?? ''),
    }),
    defineRoute({
      ...common,
      ...writes,
      method: 'PATCH',
      path: '/v1/products/:id/images/reorder',
      operationId: 'reorderProductImages',
      summary: 'Reorder the images',
      idempotency: 'optional',
      body: imagesReorder,
      bodyExample: { image_ids: ['019c4c1f-02c8-7b44-8c55-9f3d2c1b0a99', '019c4c1f-1d77-7c02-b9aa-0c1d2e3f4a5b'] },
      success: { status: 200, schema: imageOrders, shape: 'other' },
      errors: ['invalid_request'],
      handle: ({ context, params, body }) => reorderImages(context, params.id ?? '', body),
    }),
  ];
}
