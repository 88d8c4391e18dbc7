import { createContext, useContext } from 'react';
import { useClockOffsetMs } from '../clock.ts';
import { ago, dateOnly, localTime, utcTime } from '../format.ts';
import { common } from '../texts/common.ts';

/** The zone of all times on a page. Undefined: that of the viewer. */
export const TimeZone = createContext<string | undefined>(undefined);

interface DateTimeProps {
  readonly at: string | null | undefined;
  /** A day of billing, which is in UTC. */
  readonly day?: boolean;
  /** By the clock of the server. Other times are by the clock of the company, which is ahead in some sandboxes. */
  readonly real?: boolean;
}

/**
 * The time in the zone of the viewer, or of the page: in words if it is recent, with UTC when pointed at. A time of a sandbox whose clock is ahead is
 * marked.
 */
export function DateTime({ at, day = false, real = false }: DateTimeProps) {
  const offsetMs = useClockOffsetMs();
  const timeZone = useContext(TimeZone);
  if (!at) return <span className="text-muted">—</span>;
  const isAhead = !real && !day && offsetMs > 0;
  const nowMs = Date.now() + (real ? 0 : offsetMs);
  const [date, year, time] = localTime(at, timeZone).split(', ');
  const recent = day ? undefined : ago(Date.parse(at) - nowMs);
  const ofThisYear = year === String(new Date(nowMs).getFullYear());
  const title = [isAhead && common.sandboxTime, recent && localTime(at, timeZone), utcTime(at)]
    .filter(Boolean)
    .join(' · ');
  return (
    <time dateTime={at} title={title} className={`whitespace-nowrap ${isAhead ? 'sandbox-time' : ''}`}>
      {day
        ? dateOnly(at)
        : (recent ?? (
            <>
              {date}
              <span className={ofThisYear ? 'roomy' : ''}>, {year}</span>
              <span className={ofThisYear ? '' : 'roomy'}>, {time}</span>
            </>
          ))}
      {isAhead && <span className="sr-only"> ({common.sandboxTime})</span>}
    </time>
  );
}

/** One time, or the days from one to another. */
export function DaysOf({ first, last, day = false }: { first: string; last: string; day?: boolean }) {
  if (first === last) return <DateTime at={first} day={day} />;
  return (
    <>
      <DateTime at={first} day /> – <DateTime at={last} day />
    </>
  );
}
