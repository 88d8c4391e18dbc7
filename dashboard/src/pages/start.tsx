import { useNavigate } from '@tanstack/react-router';
import { useEffect } from 'react';
import { useSignedIn } from '../session.ts';

/** Redirects to the start page of the member's role. */
export function StartPage() {
  const { company } = useSignedIn();
  const navigate = useNavigate();
  const to = company.role.default_page;
  useEffect(() => {
    void navigate({ to: /^\/[a-z]/.test(to) ? to : '/home', replace: true });
  }, [navigate, to]);
  return null;
}
