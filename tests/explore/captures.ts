import type { Random } from '../support/seeded-random.ts';
import { captureOf, keyFor, orderOf, refundOf, retryOf, voidOf } from './operations.ts';
import type { World } from './world.ts';

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;
const dayMs = 24 * hourMs;

/** Holds funds, and retries if the card is declined. Returns the order if the funds are held. */
async function authorize(world: World, random: Random): Promise<string | undefined> {
  const { body } = await world.request(orderOf(world, keyFor(random, 'hold'), { capture: 'manual' }));
  if (body.status === 'pending') return body.id;
  if (body.status !== 'failed' || body.id === undefined) return undefined;
  const retried = await world.request(retryOf(body.id, keyFor(random, 'retry')));
  return retried.body.status === 'pending' ? body.id : undefined;
}

/** Captures a part and refunds some of it, releases everything, or both at once. */
async function captureOrVoid(world: World, random: Random, id: string): Promise<void> {
  const [captureKey, voidKey, refundKey] = ['capture', 'void', 'refund'].map((name) => keyFor(random, name));
  const capture = captureOf(id, 3_000, captureKey ?? '');
  const release = voidOf(id, voidKey ?? '');
  const draw = random.next();
  if (draw < 0.25) await world.request(release);
  else if (draw < 0.6) await Promise.all([world.request(capture), world.request(release)]);
  else {
    const { body } = await world.request(capture);
    if (body.status === 'succeeded') await world.request(refundOf(id, 1_000, refundKey ?? ''));
  }
}

/** Holds funds, and captures or releases them. */
export async function holdAndEnd(world: World, random: Random): Promise<void> {
  const id = await authorize(world, random);
  if (id !== undefined) await captureOrVoid(world, random, id);
}

/** When the first of the held funds end. Undefined if none are held. */
async function firstEnd(world: World): Promise<number | undefined> {
  const { owner } = await world.home();
  const [row] = await owner.query<{ at: Date | null }>(
    'SELECT min(capture_before) AS at FROM orders WHERE company_id = $1',
    [world.merchant.company.id],
  );
  return row?.at?.getTime();
}

/** The workers are quick only at the end: rounds in which nothing happens would take most of the time. */
async function passUntil(world: World, atMs: number): Promise<void> {
  for (const [pauseMs, beforeMs] of [
    [dayMs, 25 * hourMs],
    [4 * hourMs, 5 * hourMs],
    [hourMs, 65 * minuteMs],
    [10 * minuteMs, 11 * minuteMs],
    [minuteMs, 70_000],
    [10_000, 0],
  ] as const) {
    world.workerPauseMs = pauseMs;
    const leftMs = atMs - beforeMs - world.scheduler.nowMs;
    if (leftMs > 0) await world.scheduler.drive([world.wait(leftMs)]);
  }
}

/** Funds that are held, captured and released, and some whose capture races their end. */
export async function captures(world: World, random: Random): Promise<void> {
  const isLate = random.chance(0.5);
  if (isLate) world.scheduler.hold();
  world.start('api', 'api', 'worker');
  if (random.chance(0.3)) await world.merchant.processors[0].decline(1);
  const held: string[] = [];
  const begin = async (): Promise<void> => {
    const id = await authorize(world, random);
    if (id === undefined) return;
    if (random.chance(0.5)) await captureOrVoid(world, random, id);
    else held.push(id);
  };
  await world.scheduler.drive([begin(), begin(), begin()]);
  await world.drain();
  if (isLate) world.disturbAgain();
  const endsAtMs = await firstEnd(world);
  if (endsAtMs !== undefined) await passUntil(world, endsAtMs - random.between(0, 20) * 1_000);
  const late = held.filter(() => random.chance(0.7));
  await world.scheduler.drive([...late.map((id) => captureOrVoid(world, random, id)), world.wait(60_000)]);
  await passUntil(world, world.scheduler.nowMs + 8 * dayMs);
  await world.drain();
}
