import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import type { Dispatcher } from '../../server/features/webhooks/dispatcher.ts';
import { someInvoice } from '../support/invoices.ts';
import { document } from '../support/openapi.ts';
import { type Receiver, startReceiver } from '../support/receiver.ts';
import type { TestService } from '../support/service.ts';
import { somePlan } from '../support/subscriptions.ts';
import { dispatchFor, startWebhookService } from '../support/webhooks.ts';
import { logLine } from '../support/log-lines.ts';

/** A running service for clients that others' tools generated from its document, and a record of what they called. */

/** Where the tools are installed, and what they make is kept: outside of the tree, since they are large. */
export const toolsFolder = process.env.SVC_TOOLS_DIR ?? join(homedir(), '.cache', 'svc-tools');

/** With `npm run generators`; otherwise only tools that are there already are used. */
export const mayInstall = process.env.SVC_GENERATORS === 'install';

export const here = fileURLToPath(new URL('.', import.meta.url));

const execute = promisify(execFile);

export async function run(
  command: string,
  parameters: readonly string[],
  { folder = here, env = {} }: { folder?: string; env?: Record<string, string> } = {},
): Promise<string> {
  const options = { cwd: folder, env: { ...process.env, ...env }, maxBuffer: 64 * 1024 * 1024 };
  try {
    const { stdout } = await execute(command, [...parameters], options);
    return stdout;
  } catch (error) {
    const { stdout = '', stderr = '' } = error as { stdout?: string; stderr?: string };
    throw new Error(`${command} ${parameters.join(' ')}\n${stdout}${stderr}`.slice(-8_000), { cause: error });
  }
}

export async function isCommand(command: string, ...parameters: string[]): Promise<boolean> {
  return run(command, parameters).then(
    () => true,
    () => false,
  );
}

const installMaxMs = 10 * 60_000;

/** Test files run in processes of their own that need the same tools: one installs them, and the others wait. */
export async function installOnce(folder: string, install: () => Promise<void>): Promise<void> {
  const [installed, lock] = [join(folder, 'installed'), `${folder}.lock`];
  await mkdir(toolsFolder, { recursive: true });
  while (!existsSync(installed)) {
    try {
      await mkdir(lock);
    } catch {
      const { mtimeMs } = await stat(lock).catch(() => ({ mtimeMs: Date.now() }));
      // Its process was killed.
      if (Date.now() - mtimeMs > installMaxMs) await rm(lock, { recursive: true, force: true });
      await sleep(200);
      continue;
    }
    try {
      if (!existsSync(installed)) await install();
      await writeFile(installed, '');
    } finally {
      await rm(lock, { recursive: true, force: true });
    }
  }
}

const keptMs = 24 * 3_600_000;

/** A folder for what is made of the document and these sources, made where there is none yet. */
export async function folderFor(
  name: string,
  sources: readonly string[],
  make: (folder: string) => Promise<void>,
): Promise<string> {
  const hash = createHash('sha256').update(JSON.stringify(document));
  for (const source of sources) hash.update(await readFile(source));
  const all = join(toolsFolder, name);
  const folder = join(all, hash.digest('hex').slice(0, 16));
  if (existsSync(folder)) return folder;
  await mkdir(all, { recursive: true });
  for (const one of await readdir(all)) {
    const { mtimeMs } = await stat(join(all, one));
    if (Date.now() - mtimeMs > keptMs) await rm(join(all, one), { recursive: true, force: true });
  }
  const draft = `${folder}.${process.pid}`;
  await mkdir(draft);
  await writeFile(join(draft, 'openapi.json'), JSON.stringify(document));
  await make(draft);
  // Another run may have been faster.
  await rename(draft, folder).catch(() => rm(draft, { recursive: true, force: true }));
  return folder;
}

export interface World {
  readonly env: Record<string, string>;
  /** Fails unless every operation of the document was called and answered as it promises. */
  checkAllCalled(): void;
  /** Forgets the calls, and makes an invoice that can be corrected, before another client makes the calls. */
  renew(): Promise<void>;
  stop(): Promise<void>;
}

export async function startWorld(): Promise<World> {
  const service: TestService = await startWebhookService();
  const dispatcher: Dispatcher = dispatchFor(service);
  const receiver: Receiver = await startReceiver();
  const plan = await somePlan(service);
  await someInvoice(service);
  service.logLines.splice(0);
  return {
    env: {
      SVC_URL: service.baseUrl,
      SVC_KEY: service.key,
      SVC_PUBLISHABLE_KEY: await service.createKey(service.company, { kind: 'publishable' }),
      SVC_PLAN_ID: plan.id,
      SVC_RECEIVER_URL: receiver.url,
    },
    checkAllCalled() {
      const answered = service.logLines
        .map((line) => logLine(line).attributes)
        .map((answer) => [answer['http.request.method'], answer['http.route'], answer['http.response.status_code']])
        .map((words) => words.join(' ').replace(/:(\w+)/g, '{$1}'));
      assert.deepEqual(
        [...new Set(promised)].filter((call) => !answered.includes(call)),
        [],
      );
    },
    async renew() {
      await someInvoice(service);
      service.logLines.splice(0);
    },
    async stop() {
      await dispatcher.stop();
      await receiver.stop();
      await service.stop();
    },
  };
}

/** Each operation with the status of its success; of the two that always refuse, with that of the refusal. */
const promised = Object.entries(document.paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, { responses }]) => {
    const success = Object.keys(responses).find((status) => status.startsWith('2')) ?? '501';
    return `${method.toUpperCase()} ${path} ${success}`;
  }),
);
