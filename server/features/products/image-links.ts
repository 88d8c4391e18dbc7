import { limits } from '../../limits.ts';
import type { Clock } from '../../platform/clock.ts';
import type { Queryable } from '../../platform/database.ts';
import type { FileStore } from '../../platform/files/file-store.ts';
import { createdAt } from '../../platform/ids.ts';
import { findImages, type ImageRow } from './queries.ts';
import type { ProductImage } from './schemas.ts';

export interface ImageLinks {
  readonly files: FileStore;
  /** Links expire by real time, not by the company's sandbox clock. */
  readonly clock: Clock;
}

export async function imageToWire(row: ImageRow, { files, clock }: ImageLinks): Promise<ProductImage> {
  return {
    id: row.id,
    product_id: row.product_id,
    url: await files.url(row.file_key, limits.imageUrlTtlSeconds, clock.nowMs()),
    order: row.position,
    created_at: createdAt(row.id),
  };
}

export async function imagesOf(
  db: Queryable,
  companyId: string,
  links: ImageLinks,
  productIds: readonly string[],
): Promise<Map<string, ProductImage[]>> {
  const rows = await findImages(db, companyId, productIds);
  const images = await Promise.all(rows.map((row) => imageToWire(row, links)));
  return Map.groupBy(images, (image) => image.product_id);
}

/** Returns the URL of the first image of each product that has one. */
export async function firstImagesOf(
  db: Queryable,
  companyId: string,
  links: ImageLinks,
  productIds: readonly string[],
): Promise<Map<string, string>> {
  if (productIds.length === 0) return new Map();
  const images = await imagesOf(db, companyId, links, productIds);
  return new Map([...images].flatMap(([id, [first]]) => (first ? [[id, first.url] as const] : [])));
}
