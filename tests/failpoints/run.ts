import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { readCommandLine } from '../../scripts/command-line.ts';
import { processorKinds } from '../../server/vault/processors/kinds.ts';

const { values } = readCommandLine({
  name: 'npm run failpoints',
  summary: 'Kills a process in every situation that reaches a failpoint.',
  options: {
    processor: {
      type: 'text',
      default: 'acquirer',
      oneOf: processorKinds.map(({ kind }) => kind),
      describe: 'The processor that charges.',
    },
  },
});
const { processor } = values;
const file = (name: string): string => fileURLToPath(new URL(name, import.meta.url));
const { status } = spawnSync(process.execPath, [file('../run.ts'), 'tests/failpoints.test.ts'], {
  cwd: file('../..'),
  env: { ...process.env, SVC_FAILPOINTS_PROCESSOR: processor },
  stdio: 'inherit',
});
process.exit(status ?? 1);
