import { somePlan } from '../support/subscriptions.ts';
import { startTestService, type TestService } from '../support/service.ts';

/** A service to be fuzzed: without limits, since they would refuse most of it, and without a way out to other machines. */

const settings = {
  SVC_RATE_LIMIT_GLOBAL: 'off',
  SVC_RATE_LIMIT_READ: 'off',
  SVC_RATE_LIMIT_WRITE: 'off',
  SVC_RATE_LIMIT_CAPTURE: 'off',
  SVC_RATE_LIMIT_COUPON_VALIDATION: 'off',
  SVC_RATE_LIMIT_REFUSED_CARDS: 'off',
};

export interface Target {
  readonly service: TestService;
  readonly baseUrl: string;
  readonly key: string;
  /** Of plans, which no operation makes. */
  readonly planIds: readonly string[];
}

export async function startTarget(): Promise<Target> {
  const service = await startTestService({ settings, offline: true });
  const plans = [await somePlan(service), await somePlan(service, { one_time_amount: 500, amount: 0 })];
  return { service, baseUrl: service.baseUrl, key: service.key, planIds: plans.map(({ id }) => id) };
}
