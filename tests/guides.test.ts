import assert from 'node:assert/strict';
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { globSync, readFileSync } from 'node:fs';
import { mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { version } from '../server/version.ts';
import { freePort } from './support/listen.ts';
import { difference, includesLines, readersOf, type Step, stepsFor, stepsOf } from './support/guide.ts';
import {
  type Commands,
  commandsOf,
  fileNames,
  type Language,
  mark,
  programText,
  readerSettings,
} from './support/guide-programs.ts';
import { eventually } from './support/webhooks.ts';

/**
 * The guides as a reader follows them: the service as `npm start` starts it, each guide in an empty folder of its own. The address and the keys of
 * the service are set, and the SDKs that the service offers are installed once for all guides. Guides for contributors have the sources at ~/svc.
 */

const root = fileURLToPath(new URL('..', import.meta.url));
const guides = globSync('docs/*.md', { cwd: root })
  .map((file) => ({ file, steps: stepsOf(readFileSync(join(root, file), 'utf8')) }))
  .filter(({ steps }) => steps.length > 0);

let home: string;
let service: ChildProcess;
/** What the quickstart tells a reader to set. */
let known: Record<string, string> = {};
let commands: Commands = {};

const nameOf = (file: string): string => file.replaceAll('/', '-').replace(/\.md$/, '');

const partsIn = (steps: readonly Step[], language: Language): string[] =>
  steps.filter((step) => step.language === language).map(({ code }) => code);

/** The command as the operator has it on the machine of the service. */
const operatorCommand = '#!/bin/sh\ncd ~/svc && exec node cli/svc.ts "$@"\n';

before(async () => {
  home = await mkdtemp(join(tmpdir(), 'svc-guides-'));
  const folder = join(home, 'svc');
  await mkdir(folder);
  for (const name of await readdir(root)) {
    if (!['.git', '.svc'].includes(name)) await symlink(join(root, name), join(folder, name));
  }
  await mkdir(join(home, 'bin'));
  await writeFile(join(home, 'bin', 'svc'), operatorCommand, { mode: 0o755 });
  service = spawn(process.execPath, ['server/main.ts'], {
    cwd: folder,
    env: environment({
      PORT: '0',
      SVC_LOG_LEVEL: 'error',
      // Readers have a machine to themselves; this one is shared with other tests.
      SVC_MAX_EVENT_LOOP_DELAY_MS: '0',
      // As under npm: it ends when this process does, however that happens.
      npm_lifecycle_event: 'start',
    }),
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  await printed(service, /"body":"ready"/);
  const demo = JSON.parse(await readFile(join(folder, '.svc', 'demo.json'), 'utf8')) as Record<string, string>;
  const { base_url: SVC_URL = '', secret_key: SVC_KEY = '', publishable_key: SVC_PUBLISHABLE_KEY = '' } = demo;
  known = { SVC_URL, SVC_KEY, SVC_PUBLISHABLE_KEY };
  await unpackSdk(SVC_URL);
  const inGo = guides
    .map(({ file, steps }) => [nameOf(file), partsIn(steps, 'go')] as const)
    .filter(([, parts]) => parts.length > 0);
  const programs = new Map(inGo.map(([name, parts]) => [name, programText('go', parts)]));
  commands = await commandsOf(home, SVC_URL, programs);
  for (const language of Object.keys(commands) as Language[]) {
    const count = guides.flatMap(({ steps }) => partsIn(steps, language)).length;
    process.stdout.write(`${count} samples in ${language}\n`);
  }
});

/** What `npm install` does with the address of the package. Node finds it from every folder under this one. */
async function unpackSdk(address: string): Promise<void> {
  const sdk = join(home, 'node_modules', '@svc-payments', 'node');
  const reply = await fetch(`${address}/sdk/svc-payments-node-${version}.tgz`);
  assert.equal(reply.status, 200);
  await mkdir(sdk, { recursive: true });
  await writeFile(join(home, 'sdk.tgz'), Buffer.from(await reply.arrayBuffer()));
  execFileSync('tar', ['xzf', join(home, 'sdk.tgz'), '--strip-components=1', '-C', sdk]);
}

after(async () => {
  const ended = new Promise((resolve) => service.once('exit', resolve));
  service.kill('SIGTERM');
  await ended;
  await rm(home, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
});

function environment(more: Record<string, string> = {}): NodeJS.ProcessEnv {
  const { PATH = '', NODE_COMPILE_CACHE, TMPDIR } = process.env;
  return {
    PATH: [join(home, 'bin'), dirname(process.execPath), PATH].join(delimiter),
    HOME: home,
    NO_UPDATE_NOTIFIER: '1',
    ...(NODE_COMPILE_CACHE && { NODE_COMPILE_CACHE }),
    ...(TMPDIR && { TMPDIR }),
    ...more,
  };
}

async function printed(child: ChildProcess, pattern: RegExp): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    let output = '';
    child.stdout?.setEncoding('utf8').on('data', (chunk: string) => {
      output += chunk;
      if (pattern.test(output)) resolve();
    });
    child.once('exit', (code) => reject(new Error(`it ended with ${code} and had printed:\n${output}`)));
  });
}

/** What a shell knows after one block is known to the next. */
const shellStart = 'set -a; [ -f .shell ] && . ./.shell; set -e';
const shellEnd = '{ export -p; declare -f; } > .shell';

class Reader {
  readonly #folder: string;
  readonly #name: string;
  readonly #steps: readonly Step[];
  readonly #settings: Readonly<Record<string, string>>;
  readonly #running: { readonly child: ChildProcess; output: string }[] = [];

  private constructor(
    folder: string,
    name: string,
    steps: readonly Step[],
    settings: Readonly<Record<string, string>>,
  ) {
    this.#folder = folder;
    this.#name = name;
    this.#steps = steps;
    this.#settings = settings;
  }

  /** Undefined if the language of the reader is not here. */
  static async begin(name: string, steps: readonly Step[], tab = 'Node'): Promise<Reader | undefined> {
    const folder = join(home, name);
    await mkdir(folder, { recursive: true });
    const installed = await readerSettings[tab]?.(home, known.SVC_URL ?? '', folder);
    if (!installed) return undefined;
    // Its reader is the operator, in a shell with the settings of the service.
    const operator = name.includes('going-live') ? { SVC_DATA_DIR: join(home, 'svc', '.svc') } : {};
    return new Reader(folder, name, steps, { ...known, ...operator, ...installed, PORT: String(await freePort()) });
  }

  save({ file = '', code }: Step): Promise<void> {
    return writeFile(join(this.#folder, file), `${code}\n`);
  }

  shell(code: string): Promise<string> {
    return this.#run('bash', ['-c', `${shellStart}\n${code}\n${shellEnd}`]);
  }

  /** The output of each part. */
  async program(language: Language): Promise<string[]> {
    const text = programText(language, partsIn(this.#steps, language));
    await writeFile(join(this.#folder, fileNames[language]), text);
    const output = await this.shell(commands[language]?.(this.#name) ?? 'false');
    return output.split(mark);
  }

  async background(code: string): Promise<void> {
    const child = this.#spawn('bash', ['-c', `${shellStart}\nexec ${code}`]);
    const running = { child, output: '' };
    this.#running.push(running);
    child.stdout?.setEncoding('utf8').on('data', (chunk: string) => {
      running.output += chunk;
    });
    await printed(child, /\n/);
  }

  async prints(lines: string): Promise<void> {
    const isPrinted = async (): Promise<boolean> => this.#running.some(({ output }) => includesLines(output, lines));
    await eventually(`it is printed in the background:\n${lines}`, isPrinted).catch(({ message }: Error) => {
      assert.fail([message, 'printed was:', ...this.#running.map(({ output }) => output)].join('\n'));
    });
  }

  async end(): Promise<void> {
    for (const { child } of this.#running) {
      const ended = new Promise((resolve) => child.once('exit', resolve));
      // Its children too: what npm was asked to run.
      if (child.pid) process.kill(-child.pid, 'SIGKILL');
      await ended;
    }
  }

  #spawn(command: string, parameters: string[]): ChildProcess {
    const env = environment(this.#settings);
    return spawn(command, parameters, { cwd: this.#folder, env, detached: true, stdio: ['ignore', 'pipe', 'pipe'] });
  }

  async #run(command: string, parameters: string[]): Promise<string> {
    const child = this.#spawn(command, parameters);
    const output = { stdout: '', stderr: '' };
    for (const name of ['stdout', 'stderr'] as const) {
      child[name]?.setEncoding('utf8').on('data', (chunk: string) => {
        output[name] += chunk;
      });
    }
    const code = await new Promise((resolve) => child.once('close', resolve));
    assert.equal(code, 0, `it ended with ${code}:\n${parameters.at(-1)}\n${output.stdout}${output.stderr}`);
    return output.stdout;
  }
}

/** Once in each language that has files of its own, one after the other: they use the same customer. */
async function followInEach(name: string, steps: readonly Step[]): Promise<void> {
  const readers = readersOf(steps);
  if (readers.length === 0) await follow(name, steps);
  for (const tab of readers) await follow(`${name}-${tab.toLowerCase()}`, stepsFor(steps, tab), tab);
}

async function follow(name: string, steps: readonly Step[], tab?: string): Promise<void> {
  const reader = await Reader.begin(name, steps, tab);
  if (!reader) return;
  const outputs = new Map<Language, string[]>();
  // Languages that are not here have no command.
  const here = steps.filter(({ language }) => language === undefined || commands[language]);
  try {
    for (const step of here) {
      const { kind, code, language = 'js', expected, later } = step;
      let output = '';
      if (kind === 'file') await reader.save(step);
      else if (kind === 'background') await reader.background(code);
      else if (kind === 'shell') output = await reader.shell(code);
      else {
        if (!outputs.has(language)) {
          // The program can import files that the guide shows later.
          for (const one of steps.filter((other) => other.kind === 'file')) await reader.save(one);
          outputs.set(language, await reader.program(language));
        }
        output = outputs.get(language)?.shift() ?? '';
      }
      for (const one of expected) assert.equal(difference(one, output), '', code);
      for (const lines of later) await reader.prints(lines);
    }
  } finally {
    await reader.end();
  }
}

const works = ({ file, steps }: (typeof guides)[number]): void => {
  it(file, () => followInEach(nameOf(file), steps));
};
// The company has one clock: while a guide moves it, the card tokens of another would expire.
const movesTheClock = ({ steps }: (typeof guides)[number]): boolean =>
  steps.some(({ code }) => /clock\b.*advance/.test(code));

describe('the samples of a guide work as they are written', { concurrency: 3 }, () => {
  for (const guide of guides.filter((one) => !movesTheClock(one))) works(guide);
});

describe('the samples of a guide that moves the clock work as they are written', () => {
  // A reader gets here later: until the sample data of the demo company is there, its clock stands.
  before(async () => {
    const { SVC_URL = '', SVC_KEY = '' } = known;
    const headers = { authorization: `Bearer ${SVC_KEY}`, 'content-type': 'application/json' };
    const body = JSON.stringify({ by: { seconds: 1 } });
    for (let status = 409; status === 409; await sleep(500)) {
      ({ status } = await fetch(`${SVC_URL}/v1/sandbox/clock/advance`, { method: 'POST', headers, body }));
    }
  });
  for (const guide of guides.filter(movesTheClock)) works(guide);
});

describe('a guide that says what is not so', () => {
  it('is found out', async () => {
    const wrong = '```sh run\necho \'{"a": {"b": 1}, "c": "de"}\'\n```\n\n```json expect\n{"a": {"b": 2}}\n```\n';
    await assert.rejects(follow('wrong', stepsOf(wrong)), /it\.a\.b is 1, not 2/);
    await assert.rejects(follow('wrong', stepsOf(wrong.replace('"b": 2}', '"b": 1}, "c": "x…"'))), /it\.c is "de"/);
    await follow('right', stepsOf(wrong.replace('"b": 2}', '"b": 1}, "c": "d…"')));
    await assert.rejects(follow('wrong', stepsOf('```sh run\nfalse\necho no\n```')), /it ended with 1/);
    assert.ok(includesLines('first\na 1\nother\nb 2\n', 'a …\nb …'));
    assert.ok(!includesLines('b 2\na 1\n', 'a …\nb …'));
    assert.ok((await readFile(join(home, 'svc', '.svc', 'demo.json'), 'utf8')).includes('secret_key'));
  });
});
