import { randomUUID } from 'node:crypto';
import { latestMails } from '../../server/features/mails/service.ts';
import type { Reply, TestService } from './service.ts';

/** A user of the dashboard: keeps cookies as a browser does, and sends the origin of the page. */

export interface Person {
  readonly email: string;
  readonly password: string;
  /** The cookies of the session and of the browser. */
  cookie: string;
  browser: string;
  companies: { id: string; name: string; mode: 'sandbox' | 'live'; permissions: string[]; role: { name: string } }[];
  call(method: string, path: string, options?: PersonOptions): Promise<Reply>;
  /** Calls a route in the sandbox, or in the given company. */
  in(method: string, path: string, body?: unknown, options?: PersonOptions): Promise<Reply>;
}

interface PersonOptions {
  readonly body?: unknown;
  readonly company?: string;
  readonly headers?: Record<string, string>;
  readonly idempotencyKey?: string;
}

export const somePassword = 'correct horse battery';

export function newPerson(service: TestService, email = `person-${randomUUID()}@example.com`): Person {
  const person: Person = {
    email,
    password: somePassword,
    cookie: '',
    browser: '',
    companies: [],
    async call(method, path, { body, company, headers = {}, idempotencyKey } = {}) {
      const cookie = [person.cookie, person.browser].filter(Boolean).join('; ');
      const reply = await service.call(method, path, {
        key: null,
        ...(body !== undefined && { body }),
        ...(idempotencyKey !== undefined && { idempotencyKey }),
        headers: {
          origin: service.baseUrl,
          'sec-fetch-site': 'same-origin',
          ...(cookie && { cookie }),
          ...(company !== undefined && { 'svc-company': company }),
          ...headers,
        },
      });
      for (const set of reply.headers.getSetCookie()) {
        const pair = set.includes('Max-Age=0') ? '' : (set.split(';')[0] ?? '');
        if (/svc_browser=/.test(set)) person.browser = pair;
        else person.cookie = pair;
      }
      if (Array.isArray(reply.body.companies)) person.companies = reply.body.companies;
      return reply;
    },
    in(method, path, body, options = {}) {
      const sandbox = person.companies.find(({ mode }) => mode === 'sandbox');
      return person.call(method, path, { body, company: sandbox?.id ?? '', ...options });
    },
  };
  return person;
}

export async function signUp(service: TestService, email?: string): Promise<Person> {
  const person = newPerson(service, email);
  const reply = await person.call('POST', '/dashboard/sign_up', {
    body: {
      email: person.email,
      password: person.password,
      first_name: 'Ada',
      last_name: 'Lovelace',
      phone_number: '+15551234567',
      company_name: 'Engines',
    },
  });
  if (reply.status !== 201) throw new Error(`sign-up was answered ${reply.status}: ${reply.text}`);
  return person;
}

export const companyOf = (person: Person, mode: 'sandbox' | 'live'): string =>
  person.companies.find((company) => company.mode === mode)?.id ?? '';

/** Returns the token of an invitation into the owner's company of this mode, with a role by its name. */
export async function inviteAs(
  service: TestService,
  owner: Person,
  email: string,
  roleName: string,
  mode: 'sandbox' | 'live' = 'sandbox',
): Promise<string> {
  const company = companyOf(owner, mode);
  const roles = await owner.in('GET', '/v1/roles', undefined, { company });
  const role = roles.body.data.find(({ name }: { name: string }) => name === roleName);
  const person = {
    email,
    first_name: 'Grace',
    last_name: 'Hopper',
    phone_number: '+15551234567',
    role_id: role?.id,
  };
  const invited = await owner.in('POST', '/v1/team_members', person, { company });
  if (invited.status !== 201) throw new Error(`the invitation was answered ${invited.status}: ${invited.text}`);
  return invitationOf(service, email);
}

/** Creates a member with another role in the owner's company of this mode, by an invitation. */
export async function colleague(
  service: TestService,
  owner: Person,
  roleName: string,
  mode: 'sandbox' | 'live' = 'sandbox',
): Promise<Person> {
  const member = newPerson(service);
  const token = await inviteAs(service, owner, member.email, roleName, mode);
  const body = { password: member.password };
  const accepted = await member.call('POST', `/dashboard/invitations/${token}/accept`, { body });
  if (accepted.status !== 200) throw new Error(`accepting was answered ${accepted.status}: ${accepted.text}`);
  return member;
}

export async function lastMail(service: TestService, recipient: string): Promise<string> {
  await service.background.flush();
  const mails = await latestMails(service.shards, service.mailKey, 1_000);
  return mails.find((mail) => mail.recipient === recipient)?.body ?? '';
}

export async function invitationOf(service: TestService, recipient: string): Promise<string> {
  return /invitations\/(\S+)/.exec(await lastMail(service, recipient))?.[1] ?? '';
}

/** Attempts with unknown links. All attempts of an address count together, and these cost no hash of a password. */
export async function refusals(service: TestService, count: number): Promise<void> {
  const body = { token: 'unknown', password: somePassword };
  for (let refused = 0; refused < count; refused += 1)
    await newPerson(service).call('POST', '/dashboard/password_resets/complete', { body });
}
