// Made by sdk/node/generate.ts from the OpenAPI document. Change the routes, and run it again.

import type { Call, RequestOptions } from '../../request.ts';
import type { Chosen, FieldChoice } from '../../shown.ts';
import { listPages, type PagePromise } from '../../paging.ts';
import { operations } from '../operations.ts';
import type { ListPlansParams, Plan } from '../types/plans.ts';

export class Plans {
  readonly #call: Call;

  constructor(call: Call) {
    this.#call = call;
  }

  /** List plans. */
  list<const Field extends keyof Plan = keyof Plan>(params: ListPlansParams & FieldChoice<Field> = {}, options?: RequestOptions): PagePromise<Chosen<Plan, Field>> {
    return listPages(this.#call, operations.listPlans, [], params, options);
  }

  /** Retrieve a plan. */
  get<const Field extends keyof Plan = keyof Plan>(planId: string, params: FieldChoice<Field> = {}, options?: RequestOptions): Promise<Chosen<Plan, Field>> {
    return this.#call(operations.getPlan, [planId], { query: params }, options);
  }
}
