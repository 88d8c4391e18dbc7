import { relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { brotliCompress } from 'node:zlib';
import tailwindcss from '@tailwindcss/vite';
import react from '@vitejs/plugin-react';
import { defineConfig, type Plugin } from 'vite';

/** What is in the build: the folders of its packages, of which a release lists the licenses, and its files from outside. */
const packageList: Plugin = {
  name: 'package-list',
  generateBundle(_options, bundle) {
    const modules = Object.values(bundle).flatMap((part) => (part.type === 'chunk' ? part.moduleIds : []));
    const names = modules.flatMap((id) => /^.*\/(node_modules\/(?:@[^/]+\/)?[^/]+)/.exec(id)?.[1] ?? []);
    // Its styles are in the build too, but not as modules of their own.
    const folders = [...new Set([...names, 'node_modules/tailwindcss'])].toSorted().map((name) => `dashboard/${name}`);
    this.emitFile({ type: 'asset', fileName: 'packages.json', source: JSON.stringify(folders) });
    // Files of the service that are part of the dashboard: a change of them requires a new build.
    const root = fileURLToPath(new URL('..', import.meta.url));
    const shared = modules.filter((id) => id.startsWith(root) && !id.startsWith(`${root}dashboard/`));
    const sources = [...new Set(shared.map((id) => relative(root, id.split('?')[0] ?? '')))].toSorted();
    this.emitFile({ type: 'asset', fileName: 'sources.json', source: JSON.stringify(sources) });
  },
};

/** Compressed as far as possible, which takes too long for the first visitor of a service. */
const compressedFiles: Plugin = {
  name: 'compressed-files',
  enforce: 'post',
  generateBundle: {
    order: 'post',
    async handler(_options, bundle) {
      const files = Object.values(bundle).filter(({ fileName }) => fileName.startsWith('assets/'));
      const compress = promisify(brotliCompress);
      const compressed = await Promise.all(
        files.map((part) => compress(part.type === 'chunk' ? part.code : part.source)),
      );
      for (const [index, source] of compressed.entries()) {
        this.emitFile({ type: 'asset', fileName: `${files[index]?.fileName}.br`, source });
      }
    },
  },
};

/** All code is in files with hashed names, because the content security policy allows nothing inline. */
export default defineConfig({
  base: '/',
  plugins: [react(), tailwindcss(), packageList, compressedFiles],
  build: {
    outDir: 'dist',
    emptyOutDir: true,
    assetsInlineLimit: 0,
    target: 'es2022',
    // The service serves the font to all its pages.
    rolldownOptions: {
      external: [/^\/fonts\//],
      checks: { pluginTimings: false },
      // What most pages need is one file: each file costs its headers, and small ones compress badly.
      output: { codeSplitting: { groups: [{ name: 'shared', test: /dashboard.src/, minShareCount: 20 }] } },
    },
  },
});
