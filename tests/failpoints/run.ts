import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { processorKinds } from '../../server/vault/processors/kinds.ts';

/** `npm run failpoints`: kills a process in every situation that reaches a failpoint, with a kind of processor. */

const { values } = parseArgs({ options: { processor: { type: 'string', default: 'acquirer' } } });
const { processor } = values;
if (!processorKinds.some(({ kind }) => kind === processor)) {
  process.stderr.write(`--processor must be one of ${processorKinds.map(({ kind }) => kind).join(', ')}\n`);
  process.exit(2);
}
const file = (name: string): string => fileURLToPath(new URL(name, import.meta.url));
const { status } = spawnSync(process.execPath, [file('../run.ts'), 'tests/failpoints.test.ts'], {
  cwd: file('../..'),
  env: { ...process.env, SVC_FAILPOINTS_PROCESSOR: processor },
  stdio: 'inherit',
});
process.exit(status ?? 1);
