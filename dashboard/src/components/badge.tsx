import { words } from '../format.ts';

type Tone = 'good' | 'warn' | 'bad' | 'info' | 'calm';

const looks: Readonly<Record<Tone, string>> = {
  good: 'bg-good-soft text-good',
  warn: 'bg-warn-soft text-warn',
  bad: 'bg-bad-soft text-bad',
  info: 'bg-info-soft text-info',
  calm: 'bg-sunken text-muted',
};

const tones: Readonly<Record<string, Tone>> = {
  succeeded: 'good',
  active: 'good',
  delivered: 'good',
  enabled: 'good',
  success: 'good',
  completed: 'info',
  chargeback_dismissed: 'good',
  won: 'good',
  in_stock: 'good',
  pending: 'info',
  authorized: 'info',
  in_progress: 'info',
  preorder: 'info',
  under_review: 'info',
  past_due: 'warn',
  paused: 'warn',
  partially_refunded: 'warn',
  expired: 'warn',
  inquiry: 'warn',
  needs_response: 'warn',
  failed: 'bad',
  failing: 'bad',
  refund_failed: 'bad',
  chargeback: 'bad',
  chargeback_accepted: 'bad',
  lost: 'bad',
  blocked: 'bad',
  revoked: 'bad',
  out_of_stock: 'bad',
};

/** The text carries the meaning, not only the color. */
export function Badge({ status, label, tone }: { status: string; label?: string; tone?: Tone }) {
  const look = looks[tone ?? tones[status] ?? 'calm'];
  return (
    <span
      className={`inline-flex items-center rounded-full px-2 py-0.5 text-xs font-semibold md:whitespace-nowrap max-md:rounded-[10px] ${look}`}
    >
      {label ?? words(status)}
    </span>
  );
}
