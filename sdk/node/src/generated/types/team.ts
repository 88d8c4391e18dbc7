// Made by sdk/node/generate.ts from the OpenAPI document. Change the routes, and run it again.

export type TeamMemberStatus = 'pending' | 'active' | 'blocked';

export interface RoleSummary {
  id: string;
  name: string;
}

export interface TeamMember {
  id: string;
  email: string;
  first_name: string;
  last_name: string;
  phone_number: string | null;
  status: TeamMemberStatus;
  role: RoleSummary;
  invited_at: string;
  accepted_at: string | null;
  created_at: string;
  updated_at: string;
}

export interface Role {
  id: string;
  name: string;
  description: string;
  /** Where the dashboard opens. */
  default_page: string;
  /** Whether the merchant made it. */
  custom: boolean;
  /** With `expand=permissions`. */
  permissions?: string[];
}

export interface TeamMemberCreate {
  first_name: string;
  last_name: string;
  email: string;
  /** A US number: `+1` and 10 digits. */
  phone_number: string;
  role_id: string;
}

export interface RoleExpansions {
  permissions: string[];
}

export interface ListTeamMembersParams {
  /** How many objects a page has. Default: `10`. */
  limit?: number | undefined;
  /** Gives the page after the object with this id. */
  starting_after?: string | undefined;
  /** Gives the page before the object with this id. */
  ending_before?: string | undefined;
  /** Order of the list, by created_at; `field` and `field[asc]` ascend, `-field` and `field[desc]` descend. Default: `'created_at[desc]'`. */
  sort?: 'created_at' | '-created_at' | 'created_at[asc]' | 'created_at[desc]' | undefined;
  /** One or more statuses, separated by commas. */
  status?: TeamMemberStatus | readonly TeamMemberStatus[] | undefined;
  created_at?: { gt?: string | undefined; gte?: string | undefined; lt?: string | undefined; lte?: string | undefined } | undefined;
}
