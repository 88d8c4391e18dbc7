import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { cp, readFile } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { test } from 'node:test';
import { installPython } from './python.ts';
import { folderFor, here, isCommand, mayInstall, run, startWorld } from './world.ts';

/**
 * Runs with `npm run generators`, where Java and Maven are present. A Java client by openapi-generator, whose package for Python contains
 * the program. Maven gets what the client uses, in the versions of its pom.xml, and compiles it.
 */

const requirements = join(here, 'java', 'requirements.txt');
const program = join(here, 'java', 'Calls.java');

const generated = (bin: string): Promise<string> =>
  folderFor('java-calls', [requirements, program, join(here, 'java.test.ts')], async (draft) => {
    const options = ['--generator-name', 'java', '--library', 'native', '--input-spec', 'openapi.json'];
    // Otherwise an optional list that is not set is sent as an empty one, which means something else.
    const unset = ['--additional-properties', 'containerDefaultToNull=true'];
    const generate = ['generate', ...options, ...unset, '--output', 'client'];
    const printed = await run(join(bin, 'openapi-generator-cli'), generate, { folder: draft });
    assert.doesNotMatch(printed, /Duplicate file path|\bERROR\b/);
    const client = join(draft, 'client');
    await cp(program, join(client, 'src/main/java/Calls.java'));
    // The names of parameters, by which the program finds them.
    const named = '-Dmaven.compiler.parameters=true';
    const list = ['dependency:build-classpath', '-Dmdep.outputFile=classpath.txt', '-Dmdep.includeScope=runtime'];
    await run('mvn', ['--quiet', '--batch-mode', named, 'compile', ...list], { folder: client });
  });

const isPresent = async (): Promise<boolean> =>
  (await isCommand('java', '-version')) && (await isCommand('mvn', '--version'));

const bin = mayInstall && (await isPresent()) ? await installPython(requirements) : undefined;
if (bin !== undefined) {
  test('a Java client that openapi-generator generates compiles, and calls every operation', async () => {
    const client = join(await generated(bin), 'client');
    assert.ok(existsSync(join(client, 'target/classes/Calls.class')));
    const libraries = (await readFile(join(client, 'classpath.txt'), 'utf8')).trim();
    const world = await startWorld();
    try {
      const path = [join(client, 'target/classes'), libraries].join(delimiter);
      await run('java', ['-cp', path, 'Calls'], { folder: client, env: world.env });
      world.checkAllCalled();
    } finally {
      await world.stop();
    }
  });
}
