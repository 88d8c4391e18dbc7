import { useGet, useList } from '../data.ts';
import { shell } from '../texts/common.ts';
import type { Dispute, InDoubt } from '../types.ts';

/** How many objects of a page wait for the merchant, for the navigation. */

const shownMax = 9;
const everyMs = 60_000;

function Count({ count, meaning }: { count: number; meaning: (count: string) => string }) {
  if (count === 0) return null;
  const text = count > shownMax ? `${shownMax}+` : String(count);
  return (
    <span className="ml-auto rounded-full bg-warn-soft px-2 text-xs leading-5 font-semibold text-warn">
      <span aria-hidden="true">{text}</span>
      <span className="sr-only">{meaning(text)}</span>
    </span>
  );
}

function OpenDisputes() {
  const open = useList<Dispute>(
    '/dashboard/disputes',
    { status: 'inquiry,needs_response', limit: shownMax + 1 },
    { everyMs },
  );
  return <Count count={open.data?.data.length ?? 0} meaning={shell.needResponse} />;
}

function InDoubtPayments() {
  const open = useGet<{ data: readonly InDoubt[] }>('/dashboard/in_doubt', {}, { everyMs });
  return <Count count={open.data?.data.length ?? 0} meaning={shell.areInDoubt} />;
}

export const placeCounts = { disputes: OpenDisputes, inDoubt: InDoubtPayments } as const;
