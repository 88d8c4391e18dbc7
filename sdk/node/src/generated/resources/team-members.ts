// Made by sdk/node/generate.ts from the OpenAPI document. Change the routes, and run it again.

import type { Call, RequestOptions } from '../../request.ts';
import type { Chosen, FieldChoice } from '../../shown.ts';
import { listPages, type PagePromise } from '../../paging.ts';
import { operations } from '../operations.ts';
import type { ListTeamMembersParams, TeamMember, TeamMemberCreate } from '../types/team.ts';

export class TeamMembers {
  readonly #call: Call;

  constructor(call: Call) {
    this.#call = call;
  }

  /** Invite a team member. */
  create(body: TeamMemberCreate, options?: RequestOptions): Promise<TeamMember> {
    return this.#call(operations.createTeamMember, [], { body }, options);
  }

  /** List team members. */
  list<const Field extends keyof TeamMember = keyof TeamMember>(params: ListTeamMembersParams & FieldChoice<Field> = {}, options?: RequestOptions): PagePromise<Chosen<TeamMember, Field>> {
    return listPages(this.#call, operations.listTeamMembers, [], params, options);
  }
}
