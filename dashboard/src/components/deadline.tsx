import { useNowMs } from '../clock.ts';
import { dateOnly, duration } from '../format.ts';
import { disputes } from '../texts/disputes.ts';
import type { Dispute } from '../types.ts';

export const needsResponse = ({ status }: Pick<Dispute, 'status'>): boolean =>
  status === 'inquiry' || status === 'needs_response';

/** When evidence is due. Only a dispute that needs a response has a deadline that matters. */
export function Deadline({ dispute }: { dispute: Dispute }) {
  const nowMs = useNowMs();
  const { evidence_due_at: dueAt } = dispute;
  if (!dueAt || !needsResponse(dispute) || nowMs === undefined) return <span className="text-muted">—</span>;
  const seconds = (Date.parse(dueAt) - nowMs) / 1000;
  const isOverdue = seconds < 0;
  const text = (isOverdue ? disputes.overdue : disputes.respondBy)(dateOnly(dueAt), duration(Math.abs(seconds)));
  return (
    <time
      dateTime={dueAt}
      title={dueAt}
      className={`md:[td_&]:whitespace-nowrap ${isOverdue ? 'font-medium text-bad' : ''}`}
    >
      {text}
    </time>
  );
}
