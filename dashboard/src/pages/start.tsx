import { useEffect } from 'react';
import { useSignedIn } from '../session.ts';
import { navigate } from '../routing.tsx';

/** Redirects to the start page of the member's role. */
export function StartPage() {
  const { company } = useSignedIn();
  const to = company.role.default_page;
  useEffect(() => {
    void navigate({ to: /^\/[a-z]/.test(to) ? to : '/home', replace: true });
  }, [navigate, to]);
  return null;
}
