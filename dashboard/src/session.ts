import { useQuery, useQueryClient, type QueryClient } from '@tanstack/react-query';
import { createContext, useContext } from 'react';
import { ApiError, call, setCompanyOfCalls } from './api.ts';
import { common } from './texts/common.ts';
import type { Company, Session } from './types.ts';

/** The signed-in user and the current company. */

const storageName = 'svc.company';

export const sessionQuery = {
  queryKey: ['session'],
  queryFn: () => call<Session>('GET', '/dashboard/session'),
  staleTime: 60_000,
  // 401 is a valid result. Other errors, for example a busy service, are not.
  retry: (failures: number, error: Error) => failures < 4 && error instanceof ApiError && error.undecided,
} as const;

export function useSessionQuery() {
  return useQuery(sessionQuery);
}

/** `sandbox-9f3a1b2c`: every address names its company and mode, so that a link opens where it was copied. */
export const companyTag = ({ mode, id }: Company): string => `${mode}-${id.slice(-8)}`;

/**
 * The company that the address names. Without one: the last company of this tab, otherwise of this browser, otherwise the
 * sandbox.
 */
export function companyOf(session: Session, tag: string | undefined): Company | undefined {
  if (tag) return session.companies.find((company) => companyTag(company) === tag);
  const chosen = sessionStorage.getItem(storageName) ?? localStorage.getItem(storageName);
  return (
    session.companies.find(({ id }) => id === chosen) ??
    session.companies.find(({ mode }) => mode === 'sandbox') ??
    session.companies[0]
  );
}

export function rememberCompany(id: string): void {
  sessionStorage.setItem(storageName, id);
  localStorage.setItem(storageName, id);
  setCompanyOfCalls(id);
}

/** A company of the same merchant in another mode. */
export function companyInMode(session: Session, company: Company, mode: Company['mode']): Company | undefined {
  return session.companies.find((other) => other.account_id === company.account_id && other.mode === mode);
}

/** The other companies of the merchant. The first one is live, or of a live company the sandbox. */
export function counterpartsOf(session: Session, company: Company): readonly Company[] {
  const order =
    company.mode === 'live' ? (['sandbox', 'rehearsal'] as const) : (['live', 'sandbox', 'rehearsal'] as const);
  return order.flatMap((mode) => (mode === company.mode ? [] : (companyInMode(session, company, mode) ?? [])));
}

export interface SignedIn {
  readonly session: Session;
  readonly company: Company;
}

export const SignedInContext = createContext<SignedIn | null>(null);

export function useSignedIn(): SignedIn {
  const value = useContext(SignedInContext);
  if (!value) throw new Error('This page requires a signed-in user.');
  return value;
}

export function useCan(permission: string): boolean {
  return useSignedIn().company.permissions.includes(permission);
}

/** Why a member cannot change an object with these permissions: it has more permissions than they do. */
export function useReasonAgainst(): (permissions: readonly string[] | undefined) => string | undefined {
  const { permissions: own } = useSignedIn().company;
  return (permissions = []) => (permissions.every((one) => own.includes(one)) ? undefined : common.stronger);
}

/** An expansion requires a read permission. Pages omit expansions that the member cannot read. */
export function useExpand(name: 'customer'): string | undefined {
  return useCan(`${name}s:read`) ? name : undefined;
}

export function keepSession(client: QueryClient, session: Session): void {
  client.setQueryData(sessionQuery.queryKey, session);
}

export function useKeepSession(): (session: Session) => void {
  const client = useQueryClient();
  return (session) => keepSession(client, session);
}
