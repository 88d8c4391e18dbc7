import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { programPath } from './programs.ts';
import { type LogLine, logLine, warnSeverity } from './log-lines.ts';

/** Processes of the service, of this version or of a release, each with its own settings. */

export const thisRoot = fileURLToPath(new URL('../..', import.meta.url));

/**
 * Unpacks the code of a commit, with the packages of this tree. Returns undefined in a tree without that commit, for
 * example in a shallow clone.
 */
export function unpackCommit(commit: string, into: string): string | undefined {
  try {
    execFileSync('git', ['cat-file', '-e', `${commit}^{commit}`], { cwd: thisRoot, stdio: 'ignore' });
  } catch {
    return undefined;
  }
  mkdirSync(into, { recursive: true });
  const folders = ['server', 'cli', 'sdk', 'docs', 'package.json'];
  const archive = execFileSync('git', ['archive', commit, ...folders], { cwd: thisRoot, maxBuffer: 256 * 1024 * 1024 });
  execFileSync('tar', ['-x', '-C', into], { input: archive });
  symlinkSync(join(thisRoot, 'node_modules'), join(into, 'node_modules'));
  return into;
}

export interface FleetProcess {
  readonly name: string;
  readonly url: string;
  /** Lines that the process logged as a warning or worse. */
  warnings(): string[];
  output(): string;
  /** Sends SIGTERM and waits. */
  stop(): Promise<void>;
}

interface Settings {
  readonly name: string;
  readonly root: string;
  readonly port: number;
  readonly environment: Readonly<Record<string, string>>;
  /** How long it may take to start. */
  readonly readyMs?: number;
}

const readyTimeoutMs = 30_000;

function machine(): NodeJS.ProcessEnv {
  const { PATH, HOME, TMPDIR, NODE_COMPILE_CACHE } = process.env;
  return { PATH, HOME, ...(TMPDIR && { TMPDIR }), ...(NODE_COMPILE_CACHE && { NODE_COMPILE_CACHE }) };
}

/** Starts a process and waits until it is ready. The port is that of its API, or of a vault alone. */
export async function startProcess({
  name,
  root,
  port,
  environment,
  readyMs = readyTimeoutMs,
}: Settings): Promise<FleetProcess> {
  const child = spawn(process.execPath, [root === thisRoot ? programPath('main') : join(root, 'server/main.ts')], {
    env: { ...machine(), PORT: String(port), SVC_VAULT_PORT: String(port), SVC_LOG_LEVEL: 'warn', ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (chunk: string) => {
      output += chunk;
    });
  }
  const exited = once(child, 'close');
  const url = `http://127.0.0.1:${port}`;
  const deadlineMs = performance.now() + readyMs;
  while ((await fetch(`${url}/readyz`).catch(() => undefined))?.status !== 200) {
    if (child.exitCode !== null) throw new Error(`${name} ended with ${child.exitCode}:\n${output}`);
    if (performance.now() > deadlineMs) {
      child.kill('SIGKILL');
      throw new Error(`${name} does not become ready:\n${output}`);
    }
    await sleep(30);
  }
  return {
    name,
    url,
    output: () => output,
    warnings: () => output.split('\n').filter(isWarning),
    async stop() {
      if (child.exitCode === null) child.kill('SIGTERM');
      await exited;
    },
  };
}

type EarlierLine = LogLine & { readonly level?: string; readonly component?: string };

/** On a busy machine a probe of another process can time out. Requests that fail because of it count on their own. */
function isWarning(line: string): boolean {
  if (!line.startsWith('{')) return false;
  // Earlier releases write their level as a name.
  const { severity_number, level, component, attributes } = logLine(line) as EarlierLine;
  if (component !== undefined || attributes['svc.component'] !== undefined) return false;
  return level === undefined ? severity_number >= warnSeverity : ['warn', 'error', 'fatal'].includes(level);
}

/** Runs a `svc` command of a tree. Fails if the command fails. */
export function runSvc(root: string, environment: Readonly<Record<string, string>>, ...words: string[]): string {
  return execFileSync(process.execPath, [root === thisRoot ? programPath('svc') : join(root, 'cli/svc.ts'), ...words], {
    env: { ...machine(), ...environment },
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'pipe'],
  });
}
