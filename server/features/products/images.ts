import { ApiError, invalidField, notFound } from '../../errors.ts';
import type { UploadedFile } from '../../http/route.ts';
import type { Deletion } from '../../http/schemas.ts';
import { limits } from '../../limits.ts';
import { hourMs } from '../../platform/durations.ts';
import { prepareImage } from '../../platform/files/image.ts';
import { newId } from '../../platform/ids.ts';
import {
  deleteImage,
  findImages,
  findProduct,
  type ImageRow,
  insertImage,
  registerUnreferencedFile,
  setImagePositions,
} from './queries.ts';
import { type ImageLinks, imageToWire } from './image-links.ts';
import type { ImageOrders, ImagesReorder, ProductImage } from './schemas.ts';
import { lockChangeableProduct } from './changeable.ts';
import type { RequestContext } from '../../request-context.ts';

export interface StoredImage {
  readonly id: string;
  readonly fileKey: string;
  readonly contentType: string;
  readonly sizeBytes: number;
}

/** The error concerns the body, like a schema error, so the same idempotency key can be used with another file. */
function unusableFile(message: string): ApiError {
  const fieldErrors = [{ field: 'file', code: 'invalid_value', message } as const];
  return new ApiError('validation_error', `file: ${message}`, { fieldErrors, stored: false });
}

const uploadGraceMs = hourMs;

/**
 * Checks the file, removes its metadata, and stores it. Runs before any transaction, because decoding and storing may
 * take long.
 */
export async function storeImage(
  { db, company, nowMs }: RequestContext,
  { files, clock }: ImageLinks,
  productId: string,
  file: UploadedFile | undefined,
): Promise<StoredImage> {
  if (!file) throw invalidField('file', 'is required', 'required_field');
  if (!(await findProduct(db, company.id, productId))) throw notFound('product');
  const image = await prepareImage(file.path);
  if ('problem' in image) throw unusableFile(image.problem);
  const id = newId(nowMs);
  const fileKey = `${company.id}/${productId}/${id}.${image.extension}`;
  await registerUnreferencedFile(db, fileKey, new Date(clock.nowMs() + uploadGraceMs));
  await files.put(fileKey, file.path, image.contentType);
  return { id, fileKey, contentType: image.contentType, sizeBytes: image.sizeBytes };
}

export async function addImage(
  { db, company }: RequestContext,
  links: ImageLinks,
  productId: string,
  stored: StoredImage,
): Promise<ProductImage> {
  return db.transaction(async (transaction) => {
    await lockChangeableProduct(transaction, company.id, productId);
    const present = await findImages(transaction, company.id, [productId]);
    if (present.length >= limits.imagesPerProduct) {
      throw invalidField('file', `cannot be added. A product can have at most ${limits.imagesPerProduct} images`);
    }
    const row: ImageRow = {
      id: stored.id,
      product_id: productId,
      position: present.length,
      file_key: stored.fileKey,
      content_type: stored.contentType,
      size_bytes: stored.sizeBytes,
    };
    if (!(await insertImage(transaction, company.id, row))) {
      throw new ApiError('service_unavailable', 'The upload took too long. Send it again.');
    }
    return imageToWire(row, links);
  });
}

export async function removeImage(
  { db, company }: RequestContext,
  productId: string,
  imageId: string,
): Promise<Deletion> {
  return db.transaction(async (transaction) => {
    await lockChangeableProduct(transaction, company.id, productId);
    if (!(await deleteImage(transaction, company.id, productId, imageId))) {
      throw notFound('image', 'imageId');
    }
    const rest = await findImages(transaction, company.id, [productId]);
    await setImagePositions(
      transaction,
      company.id,
      productId,
      rest.map((image) => image.id),
    );
    return { id: imageId, deleted: true, message: 'The image was deleted.' };
  });
}

export async function reorderImages(
  { db, company }: RequestContext,
  productId: string,
  input: ImagesReorder,
): Promise<ImageOrders> {
  const wanted = input.image_ids.map((id) => id.toLowerCase());
  if (new Set(wanted).size < wanted.length) throw invalidField('image_ids', 'must not contain duplicates');
  return db.transaction(async (transaction) => {
    await lockChangeableProduct(transaction, company.id, productId);
    const present = new Set((await findImages(transaction, company.id, [productId])).map((image) => image.id));
    const foreign = wanted.findIndex((id) => !present.has(id));
    if (foreign >= 0) throw notFound('image', `image_ids[${foreign}]`);
    if (wanted.length !== present.size) {
      throw invalidField('image_ids', `must contain all ${present.size} images of the product`);
    }
    await setImagePositions(transaction, company.id, productId, wanted);
    return { data: wanted.map((id, order) => ({ id, order })) };
  });
}
