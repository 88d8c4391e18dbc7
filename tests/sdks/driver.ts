import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';

/**
 * A driver is a small program for each SDK. It reads one command per line, does it with the SDK, and writes one line with what the
 * caller of the SDK sees. So the scenarios are read and judged in one place, and no SDK can leave one out.
 */

type Command = Readonly<Record<string, unknown>> & { readonly do: string };

interface SeenError {
  readonly class: string;
  readonly [fact: string]: unknown;
}

export interface Seen {
  readonly result?: unknown;
  readonly error?: SeenError;
  readonly response?: { readonly status: number; readonly request_id: string; readonly version?: string };
  readonly types?: Readonly<Record<string, string>>;
  /** What the program would show of the client, of results and in its logs. */
  readonly shown?: string;
}

export interface Driver {
  readonly name: string;
  tell(command: Command): Promise<Seen>;
  stop(): Promise<void>;
}

export function startDriver(
  name: string,
  program: string,
  parameters: readonly string[],
  { folder, env = {} }: { readonly folder?: string; readonly env?: Record<string, string> } = {},
): Driver {
  const child = spawn(program, parameters, { cwd: folder, env: { ...process.env, ...env } });
  const waiting: { readonly resolve: (seen: Seen) => void; readonly reject: (error: Error) => void }[] = [];
  let complaints = '';
  child.stderr.on('data', (text: Buffer) => {
    complaints += text.toString();
  });
  createInterface({ input: child.stdout }).on('line', (line) => {
    waiting.shift()?.resolve(JSON.parse(line) as Seen);
  });
  const ended = new Promise<void>((resolve) => {
    const end = (): void => {
      for (const { reject } of waiting.splice(0)) reject(new Error(`the driver of ${name} has ended: ${complaints}`));
      resolve();
    };
    child.on('error', (error) => {
      complaints += error.message;
      end();
    });
    child.on('close', end);
  });
  return {
    name,
    tell(command) {
      return new Promise((resolve, reject) => {
        waiting.push({ resolve, reject });
        child.stdin.write(`${JSON.stringify(command)}\n`, (error) => error && reject(error));
      });
    },
    async stop() {
      child.stdin.end();
      await ended;
    },
  };
}
