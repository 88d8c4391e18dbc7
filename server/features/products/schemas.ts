import Type, { type Static } from 'typebox';
import {
  clearable,
  defaulting,
  freeText,
  line,
  metadata,
  metadataInput,
  metadataPatch,
  nullable,
  plainText,
  timestamp,
  uniqueStrings,
  uuid,
} from '../../http/schemas.ts';
import { limits } from '../../limits.ts';
import { choice } from '../../platform/choice.ts';

const availabilities = ['in_stock', 'out_of_stock', 'preorder'] as const;

const text = clearable(line({ minLength: 1 }));

const productName = plainText(limits.textLength, { description: 'HTML is not allowed.', examples: ['Tea pot'] });
const description = clearable(
  freeText(limits.descriptionLength, { format: 'plain-text', examples: ['Holds six cups.'] }),
);
const amount = Type.Integer({
  minimum: 0,
  maximum: limits.amountCentsMax,
  description: 'Price in the smallest unit of the currency.',
});
const currency = Type.String({ format: 'currency', description: 'Lowercase ISO 4217 code.', examples: ['usd'] });
const sku = Type.String({
  minLength: 1,
  maxLength: limits.textLength,
  format: 'sku',
  description: 'Unique per company. Lowercase letters, digits, hyphens and underscores.',
  examples: ['tea-pot-6'],
});
const availability = choice(availabilities, { title: 'ProductAvailability' });
const returnWindow = clearable(
  Type.Integer({
    minimum: 0,
    maximum: limits.returnWindowDaysMax,
    description: 'Number of days in which the product can be returned.',
  }),
);
const inventoryQuantity = clearable(Type.Integer({ minimum: 0, maximum: limits.inventoryMax }));

const details = {
  category: Type.Optional(text),
  brand: Type.Optional(text),
  material: Type.Optional(text),
  weight: Type.Optional(text),
  return_window: Type.Optional(returnWindow),
  inventory_quantity: Type.Optional(inventoryQuantity),
};

export const productCreate = Type.Object(
  {
    name: productName,
    description,
    pricing: Type.Object({ amount, currency }, { additionalProperties: false, title: 'PricingInput' }),
    requires_shipping: Type.Boolean(),
    sku,
    availability: defaulting(availability, 'in_stock'),
    ...details,
    metadata: Type.Optional(metadataInput),
  },
  { additionalProperties: false, title: 'ProductCreate' },
);
export type ProductCreate = Static<typeof productCreate>;

export const productUpdate = Type.Object(
  {
    name: Type.Optional(productName),
    description: Type.Optional(description),
    pricing: Type.Optional(
      Type.Object(
        { amount: Type.Optional(amount), currency: Type.Optional(currency) },
        { additionalProperties: false, title: 'PricingUpdate' },
      ),
    ),
    requires_shipping: Type.Optional(Type.Boolean()),
    sku: Type.Optional(sku),
    availability: Type.Optional(availability),
    ...details,
    metadata: Type.Optional(metadataPatch),
    active: Type.Optional(Type.Boolean({ description: '`false` archives the product.' })),
  },
  { additionalProperties: false, title: 'ProductUpdate' },
);
export type ProductUpdate = Static<typeof productUpdate>;

const imageExample = {
  id: '019c4c1f-02c8-7b44-8c55-9f3d2c1b0a99',
  product_id: '019c4c1e-9a10-7d20-a1b2-c3d4e5f60718',
  url: 'http://127.0.0.1:8080/files/019c4c1f-02c8-7b44-8c55-9f3d2c1b0a99?expires=1770802800&signature=6e1Yb0',
  order: 0,
  created_at: '2026-02-11T09:31:00.000Z',
};

export const productImage = Type.Object(
  {
    id: uuid(),
    product_id: uuid(),
    url: Type.String({
      format: 'uri',
      description: `Signed URL, valid for ${limits.imageUrlTtlSeconds / 60} minutes.`,
    }),
    order: Type.Integer({ minimum: 0, description: 'Display position, starting at 0.' }),
    created_at: timestamp(),
  },
  { title: 'ProductImage', examples: [imageExample] },
);
export type ProductImage = Static<typeof productImage>;

export const imagesReorder = Type.Object(
  {
    image_ids: uniqueStrings(uuid(), {
      minItems: 1,
      maxItems: limits.imagesPerProduct,
      description: 'All images of the product, in their new order.',
    }),
  },
  { additionalProperties: false, title: 'ProductImagesReorder' },
);
export type ImagesReorder = Static<typeof imagesReorder>;

export const imageOrders = Type.Object(
  {
    data: Type.Array(Type.Object({ id: uuid(), order: Type.Integer({ minimum: 0 }) }, { title: 'ProductImageOrder' })),
  },
  { title: 'ProductImageOrders' },
);
export type ImageOrders = Static<typeof imageOrders>;

export const product = Type.Object(
  {
    id: uuid(),
    name: Type.String(),
    description: nullable(Type.String()),
    pricing: Type.Object({ amount, currency }, { title: 'Pricing' }),
    requires_shipping: Type.Boolean(),
    sku: Type.String(),
    availability,
    category: text,
    brand: text,
    material: text,
    weight: text,
    return_window: returnWindow,
    inventory_quantity: inventoryQuantity,
    images: Type.Optional(Type.Array(productImage, { description: 'With `expand=images`.' })),
    metadata,
    active: Type.Boolean({ description: '`false` means archived.' }),
    created_at: timestamp(),
    updated_at: timestamp(),
  },
  {
    title: 'Product',
    examples: [
      {
        id: '019c4c1e-9a10-7d20-a1b2-c3d4e5f60718',
        name: 'Tea pot',
        description: 'Holds six cups.',
        pricing: { amount: 4900, currency: 'usd' },
        requires_shipping: true,
        sku: 'tea-pot-6',
        availability: 'in_stock',
        category: 'kitchen',
        brand: null,
        material: 'porcelain',
        weight: '900 g',
        return_window: 30,
        inventory_quantity: 12,
        metadata: {},
        active: true,
        created_at: '2026-02-11T09:30:00.000Z',
        updated_at: '2026-02-11T09:30:00.000Z',
      },
    ],
  },
);
export type Product = Static<typeof product>;
