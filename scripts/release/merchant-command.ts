import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';
import type { Plugin, rolldown } from 'rolldown';
import { operatorCommands } from '../../cli/operator-commands.ts';
import { root } from './files.ts';

/** Bundles the `svc` command for merchants: one file for Node 20 and newer, without packages. */

/** It calls the API. What opens the database is left out, and the command says where to run it instead. */
const withoutOperatorCommands: Plugin = {
  name: 'without-operator-commands',
  load(id) {
    if (!id.endsWith('/cli/operator-commands.ts')) return null;
    const groups = Object.fromEntries(Object.keys(operatorCommands).map((group) => [group, []]));
    const names = Object.values(operatorCommands).flatMap((group) => group.map(({ name }) => name));
    return `export const operatorCommands = ${JSON.stringify(groups)};
export const leftOut = ${JSON.stringify(names)};`;
  },
};

export interface Bundled {
  readonly text: string;
  /** The files in it, relative to the repository. */
  readonly sources: readonly string[];
}

export async function bundleCommand(): Promise<Bundled> {
  // The bundler of the dashboard, which is there whenever something is built. A start installs no development packages.
  const tools = createRequire(`${root}dashboard/package.json`);
  const { rolldown: load } = (await import(pathToFileURL(tools.resolve('rolldown')).href)) as {
    rolldown: typeof rolldown;
  };
  const build = await load({
    cwd: root,
    input: 'cli/svc.ts',
    platform: 'node',
    transform: { target: 'node20' },
    plugins: [withoutOperatorCommands],
    // A slow machine is no fault of the build.
    checks: { pluginTimings: false },
    onLog(level, log) {
      if (level === 'warn') throw new Error(log.message);
    },
  });
  const { output } = await build.generate({ format: 'es', codeSplitting: false, keepNames: true });
  await build.close();
  const [{ code, modules }] = output;
  const sources = Object.keys(modules)
    .filter((id) => id.startsWith(root))
    .map((id) => id.slice(root.length));
  const foreign = sources.find((id) => id.includes('node_modules/'));
  if (foreign) throw new Error(`${foreign} is in svc.mjs, which must contain no packages.`);
  return { text: code, sources };
}
