import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { type CallOptions, callAt, type Reply, type TestService } from './service.ts';

const script = `
  import { startTestService } from ${JSON.stringify(new URL('service.ts', import.meta.url))};
  const [database, dataDir] = process.argv.slice(1);
  const service = await startTestService({ database: { ...JSON.parse(database), drop: async () => {} }, dataDir });
  process.stdout.write(service.baseUrl + '\\n');
  process.stdin.on('end', () => process.exit()).resume();`;

/** The service in a separate process, on the database and with the secrets of a test's service. */
export class ServiceProcess {
  readonly #child: ChildProcess;
  readonly #exit: Promise<unknown>;
  readonly #baseUrl: string;
  readonly #key: string;

  private constructor(child: ChildProcess, exit: Promise<unknown>, baseUrl: string, key: string) {
    this.#child = child;
    this.#exit = exit;
    this.#baseUrl = baseUrl;
    this.#key = key;
  }

  static async start(service: TestService): Promise<ServiceProcess> {
    const parameters = [JSON.stringify(service.database), service.config.dataDir];
    const child = spawn(process.execPath, ['--input-type=module', '--eval', script, ...parameters], {
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    const exit = once(child, 'exit');
    const died = exit.then(() => Promise.reject(new Error('the process ended before it listened')));
    const [baseUrl] = (await Promise.race([once(createInterface(child.stdout), 'line'), died])) as [string];
    died.catch(() => undefined);
    return new ServiceProcess(child, exit, baseUrl, service.key);
  }

  call(method: string, path: string, options: CallOptions = {}): Promise<Reply> {
    return callAt(this.#baseUrl, this.#key, method, path, options);
  }

  async kill(): Promise<void> {
    this.#child.kill('SIGKILL');
    await this.#exit;
  }
}
