import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { createProduct } from '../../../tests/support/orders.ts';
import { startTestService, type TestService } from '../../../tests/support/service.ts';
import { ApiError } from '../../errors.ts';
import type { Plan, PlanCreate } from './schemas.ts';
import { changePlan, createPlan } from './service.ts';
import type { RequestContext } from '../../request-context.ts';

let service: TestService;
before(async () => {
  service = await startTestService();
});
after(() => service.stop());

const monthly = { interval: 'month', interval_count: 1, anchor_day: 'signup_date' } as const;

function context(): RequestContext {
  return { db: service.db, company: service.company, nowMs: service.clock.nowMs(), requestId: 'req_test' };
}

let counter = 0;
async function plan(more: Partial<PlanCreate> = {}): Promise<Plan> {
  counter += 1;
  return createPlan(context(), {
    name: `Plan ${counter}`,
    amount: 1900,
    currency: 'usd',
    billing_cycle: monthly,
    ...more,
  });
}

const refusedWith = (code: string, param: string) => (error: unknown) =>
  error instanceof ApiError && error.code === code && error.param === param;

describe('GET /v1/plans/{id}', () => {
  it('shows the plan as it was made, with its products', async () => {
    const productId = await createProduct(service, 500);
    const made = await plan({
      name: 'Tea, four quarters',
      one_time_amount: 2500,
      billing_cycle: { interval: 'month', interval_count: 3, anchor_day: 31 },
      billing_cycles: 4,
      products: [{ product_id: productId, quantity: 2 }],
    });
    const reply = await service.call('GET', `/v1/plans/${made.id}`);
    assert.equal(reply.status, 200, reply.text);
    assert.deepEqual(reply.body, made);
    assert.equal(made.plan_code, 'tea-four-quarters');
    assert.deepEqual(made.products, [{ product_id: productId, name: 'Tea pot', quantity: 2 }]);
    assert.deepEqual(made.billing_cycle, { interval: 'month', interval_count: 3, anchor_day: 31 });
    assert.deepEqual(made.pricing_tiers, [
      { name: 'Tea, four quarters', amount: 1900, kind: 'recurring' },
      { name: 'Setup fee', amount: 2500, kind: 'one_time' },
    ]);
  });

  it('is 404 for a plan that does not exist', async () => {
    const reply = await service.call('GET', '/v1/plans/01a1ddad-c17c-7724-8ba9-dfba0680ca0f');
    assert.equal(reply.status, 404);
    assert.equal(reply.body.error.code, 'resource_not_found');
  });
});

describe('GET /v1/plans', () => {
  it('finds a part of name, code or description, and takes % and _ as they are', async () => {
    const byName = await plan({ name: 'Zebra Crossing' });
    const byCode = await plan({ plan_code: 'zebra-code' });
    const byText = await plan({ description: 'with a zebra 100%' });
    const found = async (search: string): Promise<string[]> => {
      const reply = await service.call('GET', `/v1/plans?search=${encodeURIComponent(search)}`);
      assert.equal(reply.status, 200, reply.text);
      return reply.body.data.map(({ id }: Plan) => id);
    };
    assert.deepEqual(await found('zebra'), [byText.id, byCode.id, byName.id]);
    assert.deepEqual(await found('100%'), [byText.id]);
    assert.deepEqual(await found('z_bra'), []);
  });

  it('filters by active', async () => {
    const archived = await plan();
    await changePlan(context(), archived.id, { active: false });
    const ids = async (active: boolean): Promise<string[]> =>
      (await service.call('GET', `/v1/plans?active=${active}&limit=100`)).body.data.map(({ id }: Plan) => id);
    assert.ok((await ids(false)).includes(archived.id));
    assert.ok(!(await ids(true)).includes(archived.id));
  });

  for (const field of ['created_at', 'updated_at', 'name', 'amount'] as const) {
    it(`sorts by ${field}, both ways, and walks without a gap`, async () => {
      await plan({ amount: 5 + counter });
      const walk = async (sort: string): Promise<string[]> => {
        const ids: string[] = [];
        let cursor = '';
        for (;;) {
          const { body } = await service.call('GET', `/v1/plans?limit=2&sort=${sort}${cursor}`);
          ids.push(...body.data.map(({ id }: Plan) => id));
          if (!body.has_more) return ids;
          cursor = `&starting_after=${body.cursors.next}`;
        }
      };
      const [up, down] = [await walk(field), await walk(`-${field}`)];
      assert.deepEqual(up, down.toReversed());
      assert.equal(new Set(up).size, up.length);
    });
  }
});

describe('a plan', () => {
  it('has a code of its own in its company', async () => {
    await plan({ plan_code: 'taken' });
    await assert.rejects(plan({ plan_code: 'taken' }), refusedWith('resource_already_exists', 'plan_code'));
  });

  it('bills at most every 60 months or 365 days', async () => {
    await plan({ billing_cycle: { ...monthly, interval_count: 60 } });
    await plan({ billing_cycle: { ...monthly, interval: 'day', interval_count: 365 } });
    const tooLong = plan({ billing_cycle: { ...monthly, interval_count: 61 } });
    await assert.rejects(tooLong, refusedWith('validation_error', 'billing_cycle.interval_count'));
  });

  it('has tiers that add up to its amounts', async () => {
    const tiers = [
      { name: 'Tea', amount: 1500, kind: 'recurring' as const },
      { name: 'Handling', amount: 400, kind: 'recurring' as const },
    ];
    assert.deepEqual((await plan({ pricing_tiers: tiers })).pricing_tiers, tiers);
    const wrong = plan({ amount: 2000, pricing_tiers: tiers });
    await assert.rejects(wrong, refusedWith('validation_error', 'pricing_tiers'));
  });

  it('that is active keeps its products from being deleted; archived, it keeps their history', async () => {
    const productId = await createProduct(service, 500);
    const { id } = await plan({ products: [{ product_id: productId }] });
    const refused = await service.call('DELETE', `/v1/products/${productId}`);
    assert.equal(refused.status, 400);
    assert.equal(refused.body.error.code, 'product_in_active_plans');
    await changePlan(context(), id, { active: false });
    assert.equal((await service.call('DELETE', `/v1/products/${productId}`)).status, 200);
    const kept = await service.call('GET', `/v1/products/${productId}`);
    assert.equal(kept.body.active, false);
  });
});
