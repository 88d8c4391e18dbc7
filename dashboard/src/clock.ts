import { useGet } from './data.ts';
import { useSignedIn } from './session.ts';
import type { Clock } from './types.ts';

/** Less than this is the time that a request takes. */
const noticeableMs = 5_000;

function useClock(): { readonly isKnown: boolean; readonly offsetMs: number } {
  const { company } = useSignedIn();
  const hasClock = company.mode === 'sandbox' && company.permissions.includes('subscriptions:read');
  const clock = useGet<Clock>('/v1/sandbox/clock', {}, { enabled: hasClock });
  const offsetMs = (clock.data?.offset_seconds ?? 0) * 1000;
  return { isKnown: !hasClock || clock.error !== null || clock.data !== undefined, offsetMs };
}

/** The time of the company. The sandbox clock may be ahead of real time. Undefined until it is loaded. */
export function useNowMs(): number | undefined {
  const { isKnown, offsetMs } = useClock();
  return isKnown ? Date.now() + offsetMs : undefined;
}

/** How far the clock of the company is ahead; 0 if it shows the real time. */
export function useClockOffsetMs(): number {
  const { offsetMs } = useClock();
  return offsetMs > noticeableMs ? offsetMs : 0;
}
