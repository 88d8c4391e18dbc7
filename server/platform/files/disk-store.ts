import { randomUUID, timingSafeEqual } from 'node:crypto';
import { copyFile, mkdir, open, rename, rm } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import type { Readable } from 'node:stream';
import { errorCode } from '../error-code.ts';
import type { ServiceKey } from '../service-keys.ts';
import { assertContentType, assertFileKey, assertUrlTtl, contentTypeOf, isFileKey } from './file-store.ts';
import type { FileStore } from './file-store.ts';
import { storing } from './storage-error.ts';

export interface DiskStoreOptions {
  root: string;
  /** The URL at which clients reach this service, for example `https://pay.example.com`. */
  baseUrl: string;
  signingKey: ServiceKey;
}

interface OpenFile {
  /** Destroy the stream if it is not read to its end, or its file descriptor stays open. */
  stream: Readable;
  sizeBytes: number;
  contentType: string;
}

export interface DiskStore extends FileStore {
  /** Returns null if there is no such file, or if `key` is not a valid key: it may come straight from a URL. */
  openForRead(key: string): Promise<OpenFile | null>;
}

export interface FileUrlClaim {
  signingKey: ServiceKey;
  key: string;
  /** The query parameters as they arrived: a missing or repeated parameter is invalid. */
  expires: unknown;
  signature: unknown;
  nowMs: number;
}

// No key can collide with this name, since the parts of keys never begin with a dot.
const incomingFolderName = '.incoming';

export function createDiskStore(options: DiskStoreOptions): DiskStore {
  const { signingKey } = options;
  const root = resolve(options.root);
  const baseUrl = options.baseUrl.replace(/\/+$/, '');

  return {
    origin: new URL(baseUrl).origin,

    async put(key, sourcePath, contentType) {
      assertFileKey(key);
      assertContentType(key, contentType);
      const target = join(root, key);
      await storing(async () => {
        await mkdir(dirname(target), { recursive: true });
        await moveDurably(sourcePath, target, join(root, incomingFolderName));
        await syncFolders(dirname(target), root);
      });
    },

    async delete(key) {
      assertFileKey(key);
      await rm(join(root, key), { force: true }).catch(ignoreMissing);
    },

    async url(key, ttlSeconds, nowMs) {
      assertFileKey(key);
      assertUrlTtl(ttlSeconds);
      const expires = String(Math.ceil(nowMs / 1000) + ttlSeconds);
      return `${baseUrl}/files/${key}?expires=${expires}&signature=${signingKey.hash(signedText(key, expires)).toString('base64url')}`;
    },

    async openForRead(key) {
      return isFileKey(key) ? openFile(join(root, key), contentTypeOf(key)) : null;
    },
  };
}

/** Whether this service signed the link and it has not expired. */
export function verifyFileUrl({ signingKey, key, expires, signature, nowMs }: FileUrlClaim): boolean {
  if (typeof expires !== 'string' || typeof signature !== 'string') return false;
  if (!isFileKey(key) || !/^\d{1,12}$/.test(expires)) return false;
  // Compares the text, not the decoded bytes: several base64 texts decode to the same bytes.
  const expected = signingKey.hashTexts(signedText(key, expires)).map((hash) => Buffer.from(hash));
  const given = Buffer.from(signature);
  if (!expected.some((one) => given.length === one.length && timingSafeEqual(given, one))) return false;
  return nowMs < Number(expires) * 1000;
}

const signedText = (key: string, expires: string): string => `file-url\n${key}\n${expires}`;

async function moveDurably(sourcePath: string, target: string, incomingFolder: string): Promise<void> {
  await sync(sourcePath, 'r+');
  try {
    await rename(sourcePath, target);
  } catch (error) {
    if (errorCode(error) !== 'EXDEV') throw error;
    await copyDurably(sourcePath, target, incomingFolder);
  }
}

// The source is on another filesystem. Copying it to this one first lets the target appear atomically.
async function copyDurably(sourcePath: string, target: string, incomingFolder: string): Promise<void> {
  const copy = join(incomingFolder, randomUUID());
  await mkdir(incomingFolder, { recursive: true });
  try {
    await copyFile(sourcePath, copy);
    await sync(copy, 'r+');
    await rename(copy, target);
  } catch (error) {
    await rm(copy, { force: true });
    throw error;
  }
}

async function sync(path: string, flags: 'r' | 'r+'): Promise<void> {
  const handle = await open(path, flags);
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

// A rename or a new folder survives a power cut only after its parent folder is synced. Windows cannot sync folders.
async function syncFolders(from: string, root: string): Promise<void> {
  if (process.platform === 'win32') return;
  for (let folder = from; ; folder = dirname(folder)) {
    await sync(folder, 'r');
    if (folder === root) return;
  }
}

async function openFile(path: string, contentType: string): Promise<OpenFile | null> {
  const handle = await open(path, 'r').catch(ignoreMissing);
  if (!handle) return null;
  try {
    const stats = await handle.stat();
    if (stats.isFile()) return { stream: handle.createReadStream(), sizeBytes: stats.size, contentType };
  } catch (error) {
    await handle.close();
    throw error;
  }
  await handle.close();
  return null;
}

function ignoreMissing(error: unknown): undefined {
  const code = errorCode(error);
  if (code !== 'ENOENT' && code !== 'ENOTDIR') throw error;
}
