import { decoder } from './image.ts';

/** A logo is shown at half this size, so that it is sharp on every screen. */
const widthPixelsMax = 480;
const heightPixelsMax = 160;

/**
 * Makes a small PNG of a picture that `prepareImage` has accepted. It has a palette, so it never needs more than one byte
 * per pixel: it fits into a database row, and emails with it load fast.
 */
export async function logoOf(path: string): Promise<Buffer> {
  const sharp = await decoder();
  return sharp(path, { failOn: 'error' })
    .autoOrient()
    .resize({ width: widthPixelsMax, height: heightPixelsMax, fit: 'inside', withoutEnlargement: true })
    .png({ palette: true, compressionLevel: 9 })
    .toBuffer();
}
