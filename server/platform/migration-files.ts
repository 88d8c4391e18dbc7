import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { programFolder } from './program-folder.ts';

const directory = fileURLToPath(new URL('server/migrations/', programFolder));

export interface Migration {
  readonly name: string;
  readonly text: string;
  readonly sha256: string;
  /** Undefined for the migrations of 0.1.0 and before, which do not say what runs with them. */
  readonly promise: CompatibilityPromise | undefined;
}

/** The first line of a migration: which versions run on the schema that it leaves. */
export interface CompatibilityPromise {
  /** `expand` only adds. `contract` removes what the oldest version no longer uses. */
  readonly kind: 'expand' | 'contract';
  /** This version and all newer ones run on the schema. */
  readonly oldestVersion: string;
  /** What a contract migration removes or tightens, for example `column orders.note`. */
  readonly removes: readonly string[];
}

const firstLine = /^-- (expand|contract), runs with (\d+\.\d+\.\d+)(?:: (.+))?$/;

export function readPromise(text: string): CompatibilityPromise | undefined {
  const [, kind, oldestVersion, removed = ''] = firstLine.exec(text.split('\n', 1)[0] ?? '') ?? [];
  if (!kind || !oldestVersion) return undefined;
  const removes = removed.split(',').map((part) => part.trim());
  return { kind: kind as CompatibilityPromise['kind'], oldestVersion, removes: removes.filter((part) => part !== '') };
}

export async function migrationNames(): Promise<string[]> {
  const files = await readdir(directory);
  return files
    .filter((file) => file.endsWith('.sql'))
    .map((file) => file.slice(0, -'.sql'.length))
    .toSorted();
}

/** Returns every migration of this program, in order. */
export async function readMigrations(): Promise<Migration[]> {
  const names = await migrationNames();
  return Promise.all(
    names.map(async (name) => {
      // A checkout on Windows may end lines with CR LF; the migration is the same.
      const text = (await readFile(`${directory}${name}.sql`, 'utf8')).replaceAll('\r\n', '\n');
      return { name, text, sha256: createHash('sha256').update(text).digest('hex'), promise: readPromise(text) };
    }),
  );
}
