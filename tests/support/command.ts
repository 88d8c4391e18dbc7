import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { promisify } from 'node:util';
import { listen } from './listen.ts';
import { killAtExit } from './kill-at-exit.ts';
import { programPath } from './programs.ts';

/** The `svc` command as a person runs it, and a plain receiver on this machine. */

const run = promisify(execFile);
const program = (): string => programPath('svc');

export interface Ended {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

const environment = (settings: Record<string, string>): NodeJS.ProcessEnv => {
  const { SVC_KEY: _, SVC_URL: __, SVC_BASE_URL: ___, SVC_WEBHOOK_SECRET: ____, ...rest } = process.env;
  return { ...rest, SVC_DATA_DIR: '/nowhere', XDG_CONFIG_HOME: '/nowhere', ...settings };
};

export async function svc(settings: Record<string, string>, ...parameters: string[]): Promise<Ended> {
  try {
    const done = await run(process.execPath, [program(), ...parameters], { env: environment(settings) });
    return { code: 0, ...done };
  } catch (error) {
    const { code, stdout, stderr } = error as Ended;
    return { code, stdout, stderr };
  }
}

export interface RunningCommand {
  readonly child: ChildProcess;
  output(): string;
  /** Ends the command as Ctrl-C does; returns its exit code. */
  end(): Promise<number | null>;
}

export function startSvc(settings: Record<string, string>, ...parameters: string[]): RunningCommand {
  const child = spawn(process.execPath, [program(), ...parameters], { env: environment(settings) });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (chunk: string) => {
      output += chunk;
    });
  }
  const exited = once(child, 'close') as Promise<[number | null]>;
  // A test that fails before it ends the command must not keep the test run waiting for it.
  child.unref();
  for (const stream of [child.stdout, child.stderr]) (stream as Socket).unref();
  killAtExit(child);
  return {
    child,
    output: () => output,
    async end() {
      child.ref();
      child.kill('SIGINT');
      return (await exited)[0];
    },
  };
}

export interface PlainReceiver {
  readonly url: string;
  readonly received: { readonly headers: IncomingMessage['headers']; readonly body: string }[];
  stop(): Promise<void>;
}

/** Answers with the status, or does not answer if it is undefined. */
export async function startPlainReceiver(
  answer: (headers: IncomingMessage['headers'], body: string) => number | undefined | Promise<number>,
): Promise<PlainReceiver> {
  const received: { headers: IncomingMessage['headers']; body: string }[] = [];
  async function receive(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const body = Buffer.concat(chunks).toString();
    received.push({ headers: request.headers, body });
    const status = await answer(request.headers, body);
    if (status === undefined) request.socket.destroy();
    else response.writeHead(status).end();
  }
  const server = createServer((request, response) => {
    receive(request, response).catch(() => request.socket.destroy());
  });
  return {
    url: `${await listen(server)}/hook`,
    received,
    async stop() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}
