import { useGet } from './data.ts';
import { useSignedIn } from './session.ts';
import type { Clock } from './types.ts';

/** The time of the company. The sandbox clock may be ahead of real time. Undefined until it is loaded. */
export function useNowMs(): number | undefined {
  const { company } = useSignedIn();
  const hasClock = company.mode === 'sandbox' && company.permissions.includes('subscriptions:read');
  const clock = useGet<Clock>('/v1/sandbox/clock', {}, { enabled: hasClock });
  if (!hasClock || clock.error) return Date.now();
  return clock.data && Date.now() + clock.data.offset_seconds * 1000;
}
