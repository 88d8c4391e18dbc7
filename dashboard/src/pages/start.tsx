import { useNavigate } from '@tanstack/react-router';
import { useEffect } from 'react';
import { useSignedIn } from '../session.ts';

/** Sends a person to where their role begins. */
export function StartPage() {
  const { company } = useSignedIn();
  const navigate = useNavigate();
  const to = company.role.default_page;
  useEffect(() => {
    void navigate({ to: /^\/[a-z]/.test(to) ? to : '/home', replace: true });
  }, [navigate, to]);
  return null;
}
