import { cp, mkdir } from 'node:fs/promises';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { folderFor, here, isCommand, mayInstall, run, startWorld, toolsFolder } from './world.ts';

/** Runs with `npm run generators`. A Go client by oapi-codegen. Its version, and those of all it uses, are in go/go.mod and go/go.sum. */

const generator = join(toolsFolder, 'oapi-codegen-2.8.1');
const sources = join(here, 'go');

async function install(): Promise<boolean> {
  if (existsSync(generator)) return true;
  if (!(await isCommand('go', 'version'))) return false;
  await mkdir(toolsFolder, { recursive: true });
  const program = 'github.com/oapi-codegen/oapi-codegen/v2/cmd/oapi-codegen';
  await run('go', ['build', '-o', generator, program], { folder: sources });
  return true;
}

async function compiled(): Promise<string> {
  const names = ['main.go', 'go.mod', 'go.sum'];
  const folder = await folderFor(
    'go',
    names.map((name) => join(sources, name)),
    async (draft) => {
      for (const name of names) await cp(join(sources, name), join(draft, name));
      await mkdir(join(draft, 'api'));
      const options = ['-generate', 'types,client', '-package', 'api', '-o', 'api/api.gen.go', 'openapi.json'];
      await run(generator, options, { folder: draft });
      await run('go', ['build', '-o', 'calls', '.'], { folder: draft });
    },
  );
  return join(folder, 'calls');
}

if (mayInstall && (await install())) {
  test('a Go client that oapi-codegen generates compiles, and calls every operation', async () => {
    const program = await compiled();
    const world = await startWorld();
    try {
      await run(program, [], { env: world.env });
      world.checkAllCalled();
    } finally {
      await world.stop();
    }
  });
}
