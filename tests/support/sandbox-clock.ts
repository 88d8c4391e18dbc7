import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import type { PlanCreate } from '../../server/features/plans/schemas.ts';
import { secondMs } from '../../server/platform/durations.ts';
import { type Receiver, startReceiver } from './receiver.ts';
import type { CallOptions, Reply, TestService } from './service.ts';
import { somePlan, someSubscriber } from './subscriptions.ts';
import { dispatchFor, newSubscriber, startWebhookService, type Subscriber } from './webhooks.ts';

/** The clock of a sandbox company, over HTTP, with a dispatcher of webhooks beside it. */

export type Json = Record<string, any>;

export interface Scene extends Subscriber {
  advance(body: unknown, options?: CallOptions): Promise<Reply>;
  /** One that must succeed. */
  pass(body: unknown): Promise<Json>;
  clock(): Promise<Json>;
  nowMs(): Promise<number>;
  read(path: string): Promise<Json>;
  subscribed(plan?: Partial<PlanCreate>, card?: string): Promise<Json>;
}

export function assertNear(actualMs: number, expectedMs: number, what: string, withinMs = 5 * secondMs): void {
  const late = actualMs - expectedMs;
  assert.ok(late >= 0 && late < withinMs, `${what}: ${late} ms late`);
}

export const at = (moment: string): number => Date.parse(moment);
export const moment = (ms: number): string => new Date(ms).toISOString();

export interface ClockService {
  readonly service: TestService;
  newScene(): Promise<Scene>;
  /** A merchant whose only receiver never answers. */
  hanging(t: TestContext): Promise<Scene & { receiver: Receiver }>;
  stop(): Promise<void>;
}

export async function startClockService(): Promise<ClockService> {
  const service = await startWebhookService();
  const dispatcher = dispatchFor(service);

  async function newScene(): Promise<Scene> {
    const subscriber = await newSubscriber(service);
    const { key, company, call } = subscriber;
    const read: Scene['read'] = async (path) => {
      const reply = await call('GET', path);
      assert.equal(reply.status, 200, reply.text);
      return reply.body;
    };
    const advance: Scene['advance'] = (body, options) =>
      call('POST', '/v1/sandbox/clock/advance', { body, ...options });
    const clock = (): Promise<Json> => read('/v1/sandbox/clock');
    return {
      ...subscriber,
      read,
      advance,
      clock,
      nowMs: async () => Date.parse((await clock()).now),
      async pass(body) {
        const reply = await advance(body);
        assert.equal(reply.status, 200, reply.text);
        return reply.body;
      },
      async subscribed(plan = {}, card) {
        const customer_id = await someSubscriber(service, card, { key });
        const { id: plan_id } = await somePlan(service, plan, company);
        const reply = await call('POST', '/v1/subscriptions', { body: { customer_id, plan_id } });
        assert.deepEqual([reply.status, reply.body.status], [201, 'active'], reply.text);
        return reply.body;
      },
    };
  }

  async function hanging(t: TestContext): Promise<Scene & { receiver: Receiver }> {
    const receiver = await startReceiver(() => undefined);
    t.after(() => receiver.stop());
    const scene = await newScene();
    await scene.subscribe(receiver.url);
    return { ...scene, receiver };
  }

  return {
    service,
    newScene,
    hanging,
    async stop() {
      await dispatcher.stop();
      await service.stop();
    },
  };
}
