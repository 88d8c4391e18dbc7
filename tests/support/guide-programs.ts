import { mkdir, writeFile } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { run } from '../generators/world.ts';
import { hasGo, pythonBin } from '../sdks/present.ts';
import { version } from '../../server/version.ts';

/**
 * The samples of a guide in one language are one program. What each part prints ends with a mark. Python and Go run where they
 * are installed, with the SDK that the service under test serves.
 */

export const mark = '\0\n';

export type Language = 'js' | 'python' | 'go';

const written = {
  js: (parts: readonly string[]): string => parts.map((code) => `${code}\nconsole.log('\\0');`).join('\n'),
  python: (parts: readonly string[]): string => parts.map((code) => `${code}\nprint("\\0")\n`).join('\n'),
  go: goProgram,
} as const;

export const programText = (language: Language, parts: readonly string[]): string => written[language](parts);

/** What a block of Go begins with. */
export const importsOf = /^import (?:"([^"]+)"|\(([^)]*)\))\n\n/;

/** Each part can begin with what it imports. */
function goProgram(parts: readonly string[]): string {
  const imports = new Set(['"fmt"']);
  const bodies = parts.map((code) => {
    const [start = '', one, several = ''] = importsOf.exec(code) ?? [];
    const lines = one ? [`"${one}"`] : several.split('\n').map((line) => line.trim());
    for (const line of lines.filter(Boolean)) imports.add(line);
    return `${code.slice(start.length)}\nfmt.Print("\\x00\\n")\n`;
  });
  return `package main\n\nimport (\n${[...imports].join('\n')}\n)\n\nfunc main() {\n${bodies.join('\n')}}\n`;
}

/** What runs the program of a guide in its folder. Languages that are not here have none. */
export type Commands = Partial<Record<Language, (guide: string) => string>>;

/** `programs` are those in Go by guide: they are compiled together, which is faster. */
export async function commandsOf(
  home: string,
  address: string,
  programs: ReadonlyMap<string, string>,
): Promise<Commands> {
  const [python, go] = [await pythonCommand(home, address), await goCommands(home, address, programs)];
  return { js: () => 'node guide.mjs', ...(python && { python: () => python }), ...(go && { go }) };
}

export const fileNames = { js: 'guide.mjs', python: 'guide.py', go: 'guide.go' } as const;

const pythonPackages = (home: string): string => join(home, 'python');

const goModule = `module guides\n\ngo 1.24\n\nrequire svc-payments.internal/go v${version}\n`;

const goSettings = (home: string, address: string): Record<string, string> => ({
  GOPROXY: `${address}/sdk/go`,
  GONOSUMDB: 'svc-payments.internal',
  GOPATH: join(home, 'go-path'),
  GOFLAGS: '-mod=mod -modcacherw',
  GOTOOLCHAIN: 'local',
});

/** The environment of a reader who has installed the SDK in this folder, by tab. Undefined if the language is not here. */
export const readerSettings: Record<
  string,
  (home: string, address: string, folder: string) => Promise<Record<string, string> | undefined>
> = {
  Node: async () => ({}),
  async Python(home) {
    const bin = await pythonBin();
    if (!bin) return undefined;
    return { PYTHONPATH: pythonPackages(home), PATH: `${bin}${delimiter}${process.env.PATH}` };
  },
  async Go(home, address, folder) {
    if (!(await hasGo())) return undefined;
    await writeFile(join(folder, 'go.mod'), goModule);
    // The home of a reader is empty, so the standard library would be compiled again.
    const cache = (await run('go', ['env', 'GOCACHE'])).trim();
    return { ...goSettings(home, address), GOCACHE: cache };
  },
};

async function pythonCommand(home: string, address: string): Promise<string | undefined> {
  const bin = await pythonBin();
  if (!bin) {
    process.stdout.write('Python or its packages are not here, so its samples are not run.\n');
    return undefined;
  }
  const wheel = `${address}/sdk/svc_payments-${version}-py3-none-any.whl`;
  await run(join(bin, 'pip'), [
    'install',
    '--quiet',
    '--no-index',
    '--no-deps',
    '--target',
    pythonPackages(home),
    wheel,
  ]);
  return `PYTHONPATH=${pythonPackages(home)} ${join(bin, 'python')} guide.py`;
}

async function goCommands(
  home: string,
  address: string,
  programs: ReadonlyMap<string, string>,
): Promise<((guide: string) => string) | undefined> {
  if (!(await hasGo())) {
    process.stdout.write('Go is not here, so its samples are not run.\n');
    return undefined;
  }
  const folder = join(home, 'go-guides');
  for (const [guide, text] of programs) {
    await mkdir(join(folder, guide), { recursive: true });
    await writeFile(join(folder, guide, 'main.go'), text);
  }
  // The samples use the random texts of this version of Go.
  await writeFile(join(folder, 'go.mod'), goModule);
  const env = goSettings(home, address);
  await run('go', ['vet', './...'], { folder, env });
  await run('go', ['build', '-o', join(folder, 'bin/'), './...'], { folder, env });
  return (guide) => join(folder, 'bin', guide);
}
