import assert from 'node:assert/strict';
import { globSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { document } from '../support/openapi.ts';
import { installPython } from './python.ts';
import { folderFor, here, isCommand, mayInstall, run } from './world.ts';

/**
 * Runs with `npm run generators`, where Java is present. A Java client by openapi-generator, whose package for Python contains
 * the program. Maven compiles the client, if it is there.
 */

const requirements = join(here, 'java', 'requirements.txt');

const generated = (bin: string): Promise<string> =>
  folderFor('java', [requirements], async (draft) => {
    const options = ['--generator-name', 'java', '--library', 'native', '--input-spec', 'openapi.json'];
    const printed = await run(join(bin, 'openapi-generator-cli'), ['generate', ...options, '--output', 'client'], {
      folder: draft,
    });
    assert.doesNotMatch(printed, /Duplicate file path|\bERROR\b/);
    if (!(await isCommand('mvn', '--version'))) return;
    await run('mvn', ['--quiet', '--batch-mode', 'compile'], { folder: join(draft, 'client') });
  });

const bin = mayInstall && (await isCommand('java', '-version')) ? await installPython(requirements) : undefined;
if (bin !== undefined) {
  test('a Java client that openapi-generator generates compiles, and has every operation', async () => {
    const folder = join(await generated(bin), 'client/src/main/java');
    const files = globSync('**/api/*Api.java', { cwd: folder }).map((file) => readFile(join(folder, file), 'utf8'));
    const text = (await Promise.all(files)).join('\n');
    const ids = Object.values(document.paths).flatMap((methods) =>
      Object.values(methods).map(({ operationId }) => operationId),
    );
    assert.deepEqual(
      ids.filter((id) => !new RegExp(`^  public .* ${id}\\(`, 'm').test(text)),
      [],
    );
  });
}
