import { dateOnly, dateTime } from '../format.ts';

/** In a table on a phone, shows the time for dates of this year and the year for others. */
export function DateTime({ at, day = false }: { at: string | null | undefined; day?: boolean }) {
  if (!at) return <span className="text-muted">—</span>;
  const [date, year, time] = dateTime(at).split(', ');
  const recent = year === String(new Date().getUTCFullYear());
  return (
    <time dateTime={at} title={new Date(at).toISOString()} className="whitespace-nowrap">
      {day ? (
        dateOnly(at)
      ) : (
        <>
          {date}
          <span className={recent ? 'roomy' : ''}>, {year}</span>
          <span className={recent ? '' : 'roomy'}>, {time}</span>
          <span className="roomy"> UTC</span>
        </>
      )}
    </time>
  );
}
