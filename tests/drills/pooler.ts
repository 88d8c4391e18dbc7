import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { globSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { type Drill, exactly, type Figure, shown } from './drill.ts';

/** The tests of statements, with every service of a test behind a PgBouncer in transaction mode. */

const root = fileURLToPath(new URL('../..', import.meta.url));
/** They count or break the connections to PostgreSQL itself, which a pooler has instead. */
const ofConnections = [
  'server/http/{errors,round-trips}.test.ts',
  'server/features/orders/recovery/lost-answers.test.ts',
];
const patterns = ['server/features/**/*.test.ts', 'server/http/*.test.ts', 'tests/{audit,permissions,tenancy}.test.ts'];

export const drill: Drill = {
  summary: 'The tests of all features, through PgBouncer in transaction mode.',
  programs: ['pgbouncer'],
  async run({ note, cleanUp }) {
    const files = globSync(patterns, { cwd: root, exclude: ofConnections });
    const args = ['tests/run.ts', '--rerun-failed', ...files];
    const child = spawn(process.execPath, args, {
      cwd: root,
      env: { ...process.env, SVC_TEST_POOLER: '1' },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    cleanUp(() => child.kill());
    let output = '';
    child.stdout.on('data', (data: Buffer) => {
      output += data.toString();
    });
    note(`${files.length} files`);
    const [code] = (await once(child, 'close')) as [number];
    const count = (name: string): string => new RegExp(`^ℹ ${name} (\\d+)`, 'm').exec(output)?.[1] ?? 'unknown';
    for (const line of output
      .split('\n')
      .filter((one) => /^\s*✖/.test(one))
      .slice(0, 40))
      note(line);
    const figures: Figure[] = [shown('tests passed', count('pass')), exactly('exit code of the tests', code, 0)];
    return figures;
  },
};
