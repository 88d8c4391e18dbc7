import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { FlakyProxy, Mishap } from '../support/flaky-proxy.ts';
import type { Driver, Seen } from './driver.ts';

/** Plays the scenarios of `sdk/scenarios` with the driver of an SDK, and compares what the SDK shows with what they expect. */

interface Step extends Readonly<Record<string, unknown>> {
  readonly do: string;
  readonly method?: string;
  /** What happens to the next requests of the SDK, one after another. */
  readonly mishaps?: readonly Mishap[];
  /** What the result contains at least. */
  readonly expect?: unknown;
  /** What the error contains at least. */
  readonly error?: unknown;
  readonly types?: Readonly<Record<string, string>>;
  /** How many requests were sent, and with how many idempotency keys. */
  readonly attempts?: number;
  readonly keys?: number;
  /** At least this time between the first two requests. */
  readonly waits_ms?: number;
  /** Keeps the result for later steps: `$name.field`. */
  readonly save?: string;
  /** Keeps the version of the object for `if_match`. */
  readonly save_version?: string;
  /** Texts that must not be in what the SDK shows. */
  readonly hides?: readonly string[];
}

export interface Scenario {
  readonly name: string;
  readonly steps: readonly Step[];
}

const folder = fileURLToPath(new URL('../../sdk/scenarios/', import.meta.url));

export const scenarios: readonly Scenario[] = globSync('*.json', { cwd: folder })
  .toSorted()
  .flatMap((file) => JSON.parse(readFileSync(join(folder, file), 'utf8')) as Scenario[]);

export interface Stage {
  readonly proxy: FlakyProxy;
  /** Does what a scenario begins with, without an SDK. */
  prepare(step: Readonly<Record<string, unknown>>): Promise<void>;
  /** `$key`, `$url` and similar values. */
  readonly values: Readonly<Record<string, unknown>>;
}

let counter = 0;

export async function play(scenario: Scenario, driver: Driver, stage: Stage): Promise<void> {
  const values: Record<string, unknown> = { ...stage.values, sdk: driver.name.toLowerCase() };
  for (const [index, step] of scenario.steps.entries()) {
    counter += 1;
    values.unique = `${driver.name.toLowerCase()}-${process.pid}-${counter}`;
    values.phone = `+1557${String(counter).padStart(7, '0')}`;
    const played = filled(step, values) as Step;
    if (step.do === 'prepare') {
      await stage.prepare(played);
      continue;
    }
    stage.proxy.mishaps.splice(0, Infinity, ...(played.mishaps ?? []));
    stage.proxy.seen.length = 0;
    const seen = await driver.tell(commandOf(played));
    try {
      judge(played, seen, stage.proxy);
    } catch (error) {
      const at = `step ${index + 1} (${step.do} ${step.method ?? ''}) of "${scenario.name}" in ${driver.name}`;
      throw new Error(
        `${at}: ${(error as Error).message}\n${JSON.stringify({ ...seen, shown: undefined }).slice(0, 2_000)}`,
        { cause: error },
      );
    }
    if (step.save) values[step.save] = seen.result;
    if (step.save_version) values[step.save_version] = seen.response?.version;
  }
}

const judged = new Set(['mishaps', 'expect', 'error', 'save', 'save_version', 'attempts', 'keys', 'waits_ms', 'hides']);

/** What the driver needs to know: not what is expected, and of the types only where they are. */
function commandOf({ types, ...step }: Step): Step {
  const command = Object.fromEntries(Object.entries(step).filter(([name]) => !judged.has(name))) as Step;
  return types ? { ...command, types: Object.fromEntries(Object.keys(types).map((path) => [path, ''])) } : command;
}

/** Inserts `$customer.id` and `{$unique}` for their values. */
function filled(value: unknown, values: Readonly<Record<string, unknown>>): unknown {
  if (typeof value === 'string') {
    const whole = /^\$([\w.]+)$/.exec(value)?.[1];
    if (whole !== undefined) return valueAt(values, whole);
    return value.replace(/\{\$([\w.]+)\}/g, (_, path: string) => String(valueAt(values, path)));
  }
  if (Array.isArray(value)) return value.map((one) => filled(one, values));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, filled(one, values)]));
}

function valueAt(values: Readonly<Record<string, unknown>>, path: string): unknown {
  let found: unknown = values;
  for (const name of path.split('.')) found = (found as Record<string, unknown> | undefined)?.[name];
  if (found === undefined) throw new Error(`the scenario has no value $${path}`);
  return found;
}

function judge(step: Step, seen: Seen, proxy: FlakyProxy): void {
  if (step.error === undefined) assert.equal(seen.error, undefined, JSON.stringify(seen.error));
  else contains(seen.error ?? {}, step.error, 'error');
  if (step.expect !== undefined) contains(seen.result, step.expect, 'result');
  if (step.types) assert.deepEqual(seen.types, step.types);
  if (step.attempts !== undefined) assert.equal(proxy.seen.length, step.attempts, 'number of requests');
  if (step.keys !== undefined)
    assert.equal(new Set(proxy.seen.map(({ key }) => key)).size, step.keys, 'number of keys');
  if (step.waits_ms !== undefined) {
    const waitedMs = (proxy.seen[1]?.atMs ?? 0) - (proxy.seen[0]?.atMs ?? 0);
    assert.ok(waitedMs >= step.waits_ms, `waited ${waitedMs} ms`);
  }
  for (const text of step.hides ?? []) assert.ok(!seen.shown?.includes(text), `the SDK shows ${text}`);
  if (step.hides) assert.ok((seen.shown ?? '').length > 0, 'the driver shows something');
}

/** `expected` can have fewer fields. `…` in its texts stands for any text. */
function contains(actual: unknown, expected: unknown, at: string): void {
  if (Array.isArray(expected)) {
    assert.ok(Array.isArray(actual) && actual.length === expected.length, `${at} has other entries`);
    for (const [index, one] of expected.entries()) contains(actual[index], one, `${at}[${index}]`);
  } else if (typeof expected === 'object' && expected !== null) {
    for (const [name, one] of Object.entries(expected)) {
      contains((actual as Record<string, unknown> | undefined)?.[name], one, `${at}.${name}`);
    }
  } else if (typeof expected === 'string' && expected.includes('…')) {
    const pattern = expected.split('…').map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'));
    assert.match(String(actual), new RegExp(`^${pattern.join('[^]*')}$`), at);
  } else {
    assert.deepEqual(actual ?? null, expected, at);
  }
}
