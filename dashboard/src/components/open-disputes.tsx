import { useList } from '../data.ts';
import { shell } from '../texts/common.ts';
import type { Dispute } from '../types.ts';

const shownMax = 9;
const everyMs = 60_000;

/** How many disputes need a response, for the navigation. */
export function OpenDisputes() {
  const open = useList<Dispute>(
    '/dashboard/disputes',
    { status: 'inquiry,needs_response', limit: shownMax + 1 },
    { everyMs },
  );
  const count = open.data?.data.length ?? 0;
  if (count === 0) return null;
  const text = count > shownMax ? `${shownMax}+` : String(count);
  return (
    <span className="ml-auto rounded-full bg-warn-soft px-2 text-xs leading-5 font-semibold text-warn">
      <span aria-hidden="true">{text}</span>
      <span className="sr-only">{shell.needResponse(text)}</span>
    </span>
  );
}
