import { useQuery, useQueryClient, type QueryClient } from '@tanstack/react-query';
import { createContext, useContext } from 'react';
import { ApiError, call, setCompanyOfCalls } from './api.ts';
import { common } from './texts/common.ts';
import type { Company, Session } from './types.ts';

/** Who is signed in, and which of their companies the pages are about. */

const storageName = 'svc.company';

export const sessionQuery = {
  queryKey: ['session'],
  queryFn: () => call<Session>('GET', '/dashboard/session'),
  staleTime: 60_000,
  // Not to be signed in is an answer; a service that is busy is none.
  retry: (failures: number, error: Error) => failures < 4 && error instanceof ApiError && error.undecided,
} as const;

export function useSessionQuery() {
  return useQuery(sessionQuery);
}

/** The company chosen last in this tab, else in this browser, else the sandbox. */
export function companyOf(session: Session): Company | undefined {
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

/** The other one of the merchant's two companies. */
export function counterpartOf(session: Session, company: Company): Company | undefined {
  return session.companies.find((other) => other.account_id === company.account_id && other.mode !== company.mode);
}

export interface SignedIn {
  readonly session: Session;
  readonly company: Company;
}

export const SignedInContext = createContext<SignedIn | null>(null);

export function useSignedIn(): SignedIn {
  const value = useContext(SignedInContext);
  if (!value) throw new Error('This page needs somebody who is signed in.');
  return value;
}

export function useCan(permission: string): boolean {
  return useSignedIn().company.permissions.includes(permission);
}

/** Why the member may not touch what has these permissions: members touch nothing that may do more than they may. */
export function useReasonAgainst(): (permissions: readonly string[] | undefined) => string | undefined {
  const { permissions: own } = useSignedIn().company;
  return (permissions = []) => (permissions.every((one) => own.includes(one)) ? undefined : common.stronger);
}

/** An expansion needs the permission to read what it adds; pages do without what the member may not read. */
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
