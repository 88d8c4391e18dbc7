import { dateOnly, dateTime } from '../format.ts';

export function DateTime({ at, day = false }: { at: string | null | undefined; day?: boolean }) {
  if (!at) return <span className="text-muted">—</span>;
  return (
    <time dateTime={at} title={new Date(at).toISOString()} className="whitespace-nowrap">
      {day ? dateOnly(at) : `${dateTime(at)} UTC`}
    </time>
  );
}
