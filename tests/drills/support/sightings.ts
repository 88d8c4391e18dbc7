import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { parse } from 'yaml';
import { evaluate, readSeries } from '../../support/promql.ts';

/** What the processes of the service say about their parts: at `/readyz`, and with the alerts on their metrics. */

interface Sighting {
  readonly atMs: number;
  /** Such as `shard b`, `rate_limit_store` or `not ready`. */
  readonly away: readonly string[];
}

export interface Sightings {
  readonly readiness: readonly Sighting[];
  /** Alerts that would be pending, such as `SvcShardDown b`. */
  readonly alerts: readonly Sighting[];
  stop(): Promise<void>;
}

interface Readiness {
  readonly status: string;
  readonly components?: Readonly<Record<string, string>>;
  readonly shards?: Readonly<Record<string, string>>;
  readonly standby?: string;
}

const everyMs = 1_000;
const watched = [
  'SvcDatabaseDown',
  'SvcShardDown',
  'SvcWritesBlocked',
  'SvcVaultDown',
  'SvcRateLimitStoreDown',
  'SvcProcessorDown',
  'SvcRestored',
];

export function awayParts(status: number, { components = {}, shards = {}, standby }: Readiness): string[] {
  const down = (parts: Readonly<Record<string, string>>): string[] =>
    Object.entries(parts).flatMap(([name, state]) => (state === 'up' ? [] : [name]));
  return [
    ...(status === 200 ? [] : ['not ready']),
    ...down(components),
    ...down(shards).map((name) => `shard ${name}`),
    ...(standby === undefined ? [] : [`standby ${/\(shard ([^)]*)\)/.exec(standby)?.[1]}`]),
  ];
}

interface Rule {
  readonly alert: string;
  readonly expr: string;
}

const rules = (
  parse(readFileSync(new URL('../../../deploy/observability/alerts.yaml', import.meta.url), 'utf8')) as {
    groups: { rules: Rule[] }[];
  }
).groups.flatMap((group) => group.rules);

/** The alerts whose expression is true for these metrics, with the shard that they name. */
export function alertsOf(metrics: string): string[] {
  const series = metrics.split('\n').flatMap((line) => {
    const [, name, value] = /^(svc_\w+(?:\{[^}]*\})?) (-?[\d.]+)$/.exec(line) ?? [];
    return name !== undefined && value !== undefined ? [readSeries(name, value)] : [];
  });
  return rules
    .filter(({ alert }) => watched.includes(alert))
    .flatMap(({ alert, expr }) =>
      evaluate(expr, series, 0).map(({ labels }) => [alert, labels['shard']].filter(Boolean).join(' ')),
    );
}

/** `database` is that of the control plane. */
const ofShard = /^(?:shard|standby|database|SvcShardDown|SvcWritesBlocked|SvcDatabaseDown)(?: (.*))?$/;

export const isOfShard = (part: string): boolean => ofShard.test(part);

/** Whether the parts that were away include the expected one, and none of a shard that is not concerned. */
export function isSaidRightly(
  seen: readonly string[],
  expected: string | undefined,
  shard: string | undefined,
): boolean {
  const isOther = (part: string): boolean => {
    const [match, name = controlPlane] = ofShard.exec(part) ?? [];
    return match !== undefined && name !== shard;
  };
  return (expected === undefined || seen.includes(expected)) && !seen.some(isOther);
}

/** The shard with it. */
const controlPlane = 'a';

export function watchEngines(healthUrls: readonly string[], metricsUrls: readonly string[]): Sightings {
  const readiness: Sighting[] = [];
  const alerts: Sighting[] = [];
  let stopped = false;

  async function repeat(work: () => Promise<void>): Promise<void> {
    while (!stopped) {
      await work().catch(() => undefined);
      await sleep(everyMs);
    }
  }
  const get = (url: string): Promise<Response> => fetch(url, { signal: AbortSignal.timeout(5_000) });

  async function readReadiness(): Promise<void> {
    const answers = healthUrls.map(async (url) => {
      try {
        const response = await get(`${url}/readyz`);
        return awayParts(response.status, (await response.json()) as Readiness);
      } catch {
        return ['no answer'];
      }
    });
    readiness.push({ atMs: performance.now(), away: [...new Set((await Promise.all(answers)).flat())] });
  }
  async function readMetrics(): Promise<void> {
    const answers = metricsUrls.map((url) =>
      get(`${url}/metrics`)
        .then(async (response) => alertsOf(await response.text()))
        .catch((): string[] => []),
    );
    alerts.push({ atMs: performance.now(), away: [...new Set((await Promise.all(answers)).flat())] });
  }

  const watching = Promise.all([repeat(readReadiness), repeat(readMetrics)]);
  return {
    readiness,
    alerts,
    async stop() {
      stopped = true;
      await watching;
    },
  };
}
