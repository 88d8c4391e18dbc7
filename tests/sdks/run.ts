/**
 * `npm run sdks`: installs the checkers of types and what the SDKs need, where Python and Go are present, and has every SDK play
 * every scenario of `sdk/scenarios` against a running service. `npm test` does the same with the Node SDK only.
 */

process.env.SVC_SDKS = 'install';
process.argv.splice(2, Infinity, 'tests/sdks/*.test.ts');
await import('../run.ts');
