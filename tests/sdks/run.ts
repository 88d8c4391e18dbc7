import { readCommandLine } from '../../scripts/command-line.ts';

/**
 * `npm run sdks`: installs the checkers of types and what the SDKs need, where Python and Go are present. Every SDK plays every
 * scenario of `sdk/scenarios` and calls every operation of a running service, and the samples of the guides run in all languages.
 * `npm test` plays the scenarios with the Node SDK only.
 */

const { values } = readCommandLine({
  name: 'npm run sdks',
  summary:
    'Tests the SDKs for Node, Python and Go against a running service, with what it installs from public registries.',
  options: {
    versions: {
      type: 'flag',
      describe:
        'Only installs the SDKs into clean environments of all supported versions of Python, Go, Node, Bun and Deno.',
    },
  },
});
process.env.SVC_SDKS = 'install';
if (values.versions) process.env.SVC_SDK_VERSIONS = '1';
const files = values.versions ? ['tests/sdks/versions.test.ts'] : ['tests/sdks/*.test.ts', 'tests/guides.test.ts'];
process.argv.splice(2, Infinity, ...files);
await import('../run.ts');
