import { globSync } from 'node:fs';
import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { readCommandLine } from '../scripts/command-line.ts';
import { bundlePrograms } from './support/bundled-programs.ts';
import { fastestFolder } from './support/fastest-folder.ts';
import { runTestFiles } from './support/runner.ts';
import { startTestPooler } from './support/test-pooler.ts';
import { startTestServer } from './support/test-server.ts';

/**
 * `npm test [-- files…]`: starts a PostgreSQL of its own, prepares the template that each test file clones its
 * database from, and runs the test files side by side.
 *
 * `--all` also runs the tests that `onlyWithAll` names, as CI does.
 * `--rerun-failed` runs the files that failed a second time, one after another. The run passes if they pass then and are at
 * most three, and ends with their names: a flaky test is a bug, of the test or of the product.
 * `--two-shards` runs the tests of statements with their companies on a second database, as CI does. Without it they have one.
 * `--save-durations` writes how long each file took into durations.json, from which the next run plans.
 */

const root = fileURLToPath(new URL('..', import.meta.url));
const everything = ['server/**/*.test.ts', 'cli/**/*.test.ts', 'sdk/**/*.test.ts', 'tests/**/*.test.ts'];
/** They take longer than all others. What can break them is in few places, and CI runs them. */
const onlyWithAll = [
  // They start several databases, services or releases each.
  'tests/deployments/**',
  'server/platform/embedded-postgres/**',
  'cli/{backup,rehearse,svc}.test.ts',
  // Programs that look for faults by force or by chance; here a small run of each.
  'tests/{chaos,explore,fuzz,generators}/**',
  // With Python and Go, where they are.
  'tests/sdks/!(node).test.ts',
  'tests/{failpoints,bank-failpoints,card-failpoints,operation-fuzz,parser-fuzz}.test.ts',
  'tests/{plan-changes,restore}.test.ts',
  'server/features/coupons/race.test.ts',
  // A thousand notices; adyen/notices.test.ts has as many without the service.
  'server/vault/processors/adyen/queue.test.ts',
  // Whole campaigns of attackers; networks and clocks that fail.
  'tests/{account-enumeration,card-memory,card-numbers,dashboard-attacks,database-dump,hostile-input,unfinished-bodies}.test.ts',
  'server/features/checkout-sessions/card-testing.test.ts',
  'server/platform/files/image{,-metadata}.test.ts',
  'tests/{clocks,dead-connections}.test.ts',
  // With Java, where the validator is; and pictures of each document.
  'server/features/invoices/{official-validator,pictures}.test.ts',
  // Processors, vaults and receivers that are away, refuse or wait, each for a while.
  'server/features/orders/recovery/{forgotten-charges,vault-away}.test.ts',
  'server/features/processors/{refused-credentials,rejected-account}.test.ts',
  'server/features/webhooks/{concurrency,shared-hosts}.test.ts',
  'server/vault/processors/adyen/authentication.test.ts',
  'server/vault/declines.test.ts',
  'sdk/node/{build,retries}.test.ts',
  // They start a program for each check.
  'cli/{api,listen}.test.ts',
  'tests/{migrations,misconfigurations}.test.ts',
  // They start the sources for each guide.
  'tests/guides.test.ts',
  // What shoppers do is in the other tests of pages.
  'tests/browser/!(checkout-page|customer-page|page-parts).test.ts',
];

/** The tests of statements: with `--two-shards`, a statement that looks for a company in the wrong database finds nothing. */
const ofStatements = [
  'server/features/*/*.test.ts',
  'server/http/*.test.ts',
  'server/vault/vault.test.ts',
  'cli/{doctor,keys,orders,subscriptions}.test.ts',
  'tests/{audit,dashboard-routes,permissions,tenancy}.test.ts',
];

function testFiles(wanted: readonly string[], { all }: { readonly all: boolean }): string[] {
  const unknown = wanted.filter((pattern) => globSync(pattern).length === 0);
  if (unknown.length > 0) {
    process.stderr.write(`No such test file: ${unknown.join(', ')}\n`);
    process.exit(1);
  }
  if (wanted.length > 0) return globSync(wanted).map((file) => relative(root, resolve(file)));
  const exclude = ['**/node_modules/**', ...(all ? [] : onlyWithAll)];
  return globSync(everything, { cwd: root, exclude }).toSorted();
}

const { values, positionals } = readCommandLine({
  name: 'npm test',
  summary:
    'Starts a PostgreSQL of its own, and runs the named test files side by side, or all but the slowest. Each file has its own database.',
  arguments: { name: 'FILE…' },
  options: {
    all: { type: 'flag', describe: 'Runs all tests, as CI does: also those of whole deployments and of all pages.' },
    'rerun-failed': {
      type: 'flag',
      describe:
        'Runs the files that failed a second time, alone, and names those that pass then: they are flaky. More than three fail the run.',
    },
    'two-shards': {
      type: 'flag',
      describe: 'Puts the companies of the tests of statements on a second database, as CI does.',
    },
    'save-durations': { type: 'flag', describe: 'Saves how long each file took. The next run plans with it.' },
  },
});
let passed = false;
const files = testFiles(positionals, values);
const folder = await mkdtemp(join(await fastestFolder(), 'svc-tests-'));
// PostgreSQL and the users of some tests need to reach what is in it.
await chmod(folder, 0o711);
// What the tests leave behind, for example because they kill a process, ends with the folder.
process.env.TMPDIR = folder;
await bundlePrograms();
const postgres = await startTestServer(folder);
const pooler = await startTestPooler(folder, postgres.connectionString);
try {
  passed = await runTestFiles(files, folder, {
    rerunFailed: values['rerun-failed'],
    saveDurations: values['save-durations'],
    onTwoShards: new Set(values['two-shards'] ? globSync(ofStatements, { cwd: root }) : []),
  });
} finally {
  await pooler?.stop();
  await postgres.stop();
  await rm(folder, { recursive: true, force: true });
}
process.exit(passed ? 0 : 1);
