// Made by sdk/node/generate.ts from the OpenAPI document. Change the routes, and run it again.

import type { Call, FileContent, RequestOptions } from '../../request.ts';
import type { ExpandChoice, FieldChoice, Shown } from '../../shown.ts';
import { listPages, type PagePromise } from '../../paging.ts';
import { operations } from '../operations.ts';
import type { DeletedImage, DeletedProduct, ListProductsParams, Product, ProductCreate, ProductExpansions, ProductImage, ProductImageOrders, ProductImagesReorder, ProductUpdate } from '../types/products.ts';

export class ProductsImages {
  readonly #call: Call;

  constructor(call: Call) {
    this.#call = call;
  }

  /** Upload an image. */
  upload(productId: string, file: FileContent, options?: RequestOptions): Promise<ProductImage> {
    return this.#call(operations.uploadProductImage, [productId], { file }, options);
  }

  /** Delete an image. */
  delete(productId: string, imageId: string, options?: RequestOptions): Promise<DeletedImage> {
    return this.#call(operations.deleteProductImage, [productId, imageId], {}, options);
  }

  /** Reorder the images. */
  reorder(productId: string, body: ProductImagesReorder, options?: RequestOptions): Promise<ProductImageOrders> {
    return this.#call(operations.reorderProductImages, [productId], { body }, options);
  }
}

export class Products {
  readonly #call: Call;
  readonly images: ProductsImages;

  constructor(call: Call) {
    this.#call = call;
    this.images = new ProductsImages(call);
  }

  /** Create a product. */
  create(body: ProductCreate, options?: RequestOptions): Promise<Product> {
    return this.#call(operations.createProduct, [], { body }, options);
  }

  /** List products. */
  list<const Expand extends keyof ProductExpansions = never, const Field extends keyof Product = keyof Product>(params: ListProductsParams & ExpandChoice<Expand> & FieldChoice<Field> = {}, options?: RequestOptions): PagePromise<Shown<Product, ProductExpansions, Expand, Field>> {
    return listPages(this.#call, operations.listProducts, [], params, options);
  }

  /** Retrieve a product. */
  get<const Expand extends keyof ProductExpansions = never, const Field extends keyof Product = keyof Product>(productId: string, params: ExpandChoice<Expand> & FieldChoice<Field> = {}, options?: RequestOptions): Promise<Shown<Product, ProductExpansions, Expand, Field>> {
    return this.#call(operations.getProduct, [productId], { query: params }, options);
  }

  /** Update a product. */
  update(productId: string, body: ProductUpdate, options?: RequestOptions): Promise<Product> {
    return this.#call(operations.updateProduct, [productId], { body }, options);
  }

  /** Delete a product. */
  delete(productId: string, options?: RequestOptions): Promise<DeletedProduct> {
    return this.#call(operations.deleteProduct, [productId], {}, options);
  }
}
