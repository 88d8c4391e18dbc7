import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { TestService } from './service.ts';

/** The service in a process of its own, whose memory a test measures. */

export interface MeasuredServer {
  readonly name: string;
  readonly port: number;
  /** `METHOD /path`, from the router. */
  readonly routes: readonly string[];
}

export interface MeasuredService {
  readonly servers: readonly MeasuredServer[];
  /** The bytes in use, without what can be collected. */
  bytes(): Promise<number>;
  /** Resolves once this many requests have arrived since the last call. */
  arrived(requests: number): Promise<unknown>;
  stop(): Promise<void>;
}

/** Starts it on the database and with the secrets of another service. It trusts 127.0.0.1 as a proxy. */
export async function startMeasured(service: TestService): Promise<MeasuredService> {
  const program = fileURLToPath(new URL('measured-main.ts', import.meta.url));
  const child = fork(program, [JSON.stringify(service.database), service.config.dataDir], {
    execArgv: ['--expose-gc'],
  });
  const exited = once(child, 'exit');
  const died = exited.then(() => Promise.reject(new Error('the process ended')));
  died.catch(() => undefined);
  const message = async <Answer>(): Promise<Answer> => {
    const [answer] = (await Promise.race([once(child, 'message'), died])) as [Answer];
    return answer;
  };
  const ask = (what: 'bytes' | number): Promise<number> => {
    child.send(what);
    return message<number>();
  };
  const servers = await message<MeasuredServer[]>();
  return {
    servers,
    bytes: () => ask('bytes'),
    arrived: ask,
    async stop() {
      child.disconnect();
      await exited;
    },
  };
}
