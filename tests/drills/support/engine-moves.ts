import { setTimeout as sleep } from 'node:timers/promises';
import { svc } from '../../support/command.ts';
import { atMost, exactly, type Figure, shown } from '../drill.ts';
import type { Engines } from './engines.ts';

/** A company that moves to the other shard and back, again and again. A command that fails is run again. */

const pauseMs = 3_000;
const finishMaxMs = 180_000;

export interface Moving {
  /** Brings the company home. */
  stop(): Promise<Figure[]>;
}

/** Only a superuser creates subscriptions in PostgreSQL 15, and PgBouncer does not forward replication: so the command goes around both. */
function operatorSettings({ environment, shards }: Engines): Record<string, string> {
  const [first, ...others] = shards.map(({ name, cluster }) => ({ name, url: cluster.superuserUrl }));
  return {
    ...environment,
    DATABASE_URL: first?.url ?? '',
    SVC_SHARDS: others.map(({ name, url }) => `${name}=${url}`).join(' '),
  };
}

export function keepMoving(engines: Engines, companyId: string, note: (text: string) => void): Moving {
  const settings = operatorSettings(engines);
  const [home = '', away = ''] = engines.shards.map(({ name }) => name);
  const stops: number[] = [];
  const failures: string[] = [];
  let place = home;
  /** Where a move was begun that is not finished. */
  let begun: string | undefined;
  let stopped = false;

  async function move(to: string): Promise<boolean> {
    begun = to;
    const words = ['companies', 'move', '--company', companyId, '--to', to, '--json'];
    const { code, stdout, stderr } = await svc(settings, ...words);
    if (code !== 0) {
      failures.push(stderr.trim());
      note(`the move to ${to} is run again: ${stderr.trim().slice(0, 300)}`);
      return false;
    }
    const { stop_ms: stopMs } = JSON.parse(stdout) as { stop_ms?: number };
    if (stopMs !== undefined && stopMs !== null) stops.push(stopMs);
    place = to;
    begun = undefined;
    return true;
  }

  const running = (async () => {
    while (!stopped) {
      await move(place === home ? away : home);
      await sleep(pauseMs);
    }
  })();

  return {
    async stop() {
      stopped = true;
      await running;
      const deadlineMs = performance.now() + finishMaxMs;
      // A move that was interrupted is finished first.
      while ((begun !== undefined || place !== home) && performance.now() < deadlineMs)
        if (!(await move(begun ?? home))) await sleep(pauseMs);
      return [
        shown('moves of a company', stops.length),
        shown('commands that were run again', failures.length),
        atMost('longest stop of its writes', Math.max(0, ...stops), 11_000, ' ms'),
        exactly('it is at home', begun ?? place, home),
      ];
    },
  };
}
