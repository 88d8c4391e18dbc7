import scalar from '@scalar/fastify-api-reference';
import tailwindcss from '@tailwindcss/vite';
import react from '@vitejs/plugin-react';
import fastify from 'fastify';
import { defineConfig, type Plugin } from 'vite';

/**
 * The script of the API reference at /docs/api. Its package brings 30 MB of others and is needed only here: the service
 * serves the file.
 */
const referenceScript: Plugin = {
  name: 'reference-script',
  async generateBundle() {
    const app = fastify();
    await app.register(scalar, { routePrefix: '/docs/api', configuration: { url: '/openapi.json' } });
    const { body } = await app.inject('/docs/api/js/scalar.js');
    this.emitFile({ type: 'asset', fileName: 'scalar.js', source: body });
  },
};

/** The folders of the packages in the build, of which a release lists the licenses. */
const packageList: Plugin = {
  name: 'package-list',
  generateBundle(_options, bundle) {
    const modules = Object.values(bundle).flatMap((part) => (part.type === 'chunk' ? part.moduleIds : []));
    const names = modules.flatMap((id) => /^.*\/(node_modules\/(?:@[^/]+\/)?[^/]+)/.exec(id)?.[1] ?? []);
    // Their styles and scripts are in the build too, but not as modules of their own.
    const others = ['node_modules/tailwindcss', 'node_modules/@scalar/fastify-api-reference'];
    const folders = [...new Set([...names, ...others])].toSorted().map((name) => `dashboard/${name}`);
    this.emitFile({ type: 'asset', fileName: 'packages.json', source: JSON.stringify(folders) });
  },
};

/** All code is in files with hashed names, because the content security policy allows nothing inline. */
export default defineConfig({
  base: '/',
  plugins: [react(), tailwindcss(), referenceScript, packageList],
  build: {
    outDir: 'dist',
    emptyOutDir: true,
    assetsInlineLimit: 0,
    target: 'es2022',
    // The service serves the font to all its pages.
    rolldownOptions: { external: [/^\/fonts\//] },
  },
});
