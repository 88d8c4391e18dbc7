// Made by sdk/node/generate.ts from the OpenAPI document. Change the routes, and run it again.

import type { Call, RequestOptions } from '../../request.ts';
import type { ExpandChoice, Shown } from '../../shown.ts';
import { operations } from '../operations.ts';
import type { Role, RoleExpansions } from '../types/team.ts';

export class Roles {
  readonly #call: Call;

  constructor(call: Call) {
    this.#call = call;
  }

  /** List roles. */
  list<const Expand extends keyof RoleExpansions = never>(params: ExpandChoice<Expand> = {}, options?: RequestOptions): Promise<{ data: Shown<Role, RoleExpansions, Expand, keyof Role>[] }> {
    return this.#call(operations.listRoles, [], { query: params }, options);
  }
}
