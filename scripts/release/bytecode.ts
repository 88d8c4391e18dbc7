import { execFileSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { ReleaseFile } from './files.ts';

/** Compiles the scripts of a release to the bytecode of this version of Node. */

const compiler = fileURLToPath(new URL('bytecode.cjs', import.meta.url));
// Without them, V8 chooses random seeds, and the bytes differ from run to run.
const reproducible = ['--random-seed=1', '--hash-seed=1', '--single-threaded'];
// V8 accepts bytecode only under the flags that it was made with. It keeps their hash here in the header.
const flagHash = { start: 12, end: 16 };

export function bytecodeOf(scripts: readonly ReleaseFile[], nodeFlags: readonly string[]): ReleaseFile[] {
  const folder = mkdtempSync(join(tmpdir(), 'svc-bytecode-'));
  try {
    // The service does not run with the seeds, so the hash is that of a compilation without them.
    writeFileSync(join(folder, 'empty.js'), '');
    execFileSync(process.execPath, [...nodeFlags, compiler, folder]);
    const served = readFileSync(join(folder, 'empty.js.bytecode')).subarray(flagHash.start, flagHash.end);
    for (const name of ['empty.js', 'empty.js.bytecode']) rmSync(join(folder, name));
    for (const { path, content } of scripts) writeFileSync(join(folder, path), content);
    execFileSync(process.execPath, [...nodeFlags, ...reproducible, compiler, folder]);
    return readdirSync(folder)
      .filter((name) => name.endsWith('.bytecode'))
      .map((path) => {
        const content = readFileSync(join(folder, path));
        served.copy(content, flagHash.start);
        return { path, content };
      });
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
