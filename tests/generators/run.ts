/**
 * `npm run generators`: installs the generators of clients, where Go, Java and Python are present, and has each generated client
 * call every operation of a running service. `npm test` does the same with the generated TypeScript client only.
 */

process.env.SVC_GENERATORS = 'install';
process.argv.splice(2, Infinity, 'tests/generators/*.test.ts');
await import('../run.ts');
