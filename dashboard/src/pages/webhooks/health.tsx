import { useState } from 'react';
import { call } from '../../api.ts';
import { Badge } from '../../components/badge.tsx';
import { Button } from '../../components/button.tsx';
import { Confirm } from '../../components/confirm.tsx';
import { toast } from '../../components/toasts.tsx';
import { lookEveryMs, useGet } from '../../data.ts';
import { dateOnly } from '../../format.ts';
import { webhooks } from '../../texts/webhooks.ts';
import type { WebhookEndpoint, WebhookHealth } from '../../types.ts';

const useHealth = (id: string, everyMs?: number) =>
  useGet<WebhookHealth>(`/dashboard/webhook_endpoints/${id}/health`, {}, everyMs ? { everyMs } : {}).data;

const rateOf = ({ attempts, failed_attempts }: WebhookHealth): string =>
  `${((100 * failed_attempts) / Math.max(attempts, 1)).toFixed(1).replace(/\.0$/, '')}%`;

const most = 10_000;
const countText = (count: number): string => count.toLocaleString('en-US') + (count >= most ? '+' : '');

/** An endpoint that is enabled and does not answer is not well. */
export function EndpointStatus({ endpoint: { id, status } }: { endpoint: WebhookEndpoint }) {
  const health = useHealth(id, lookEveryMs);
  if (status === 'enabled' && health?.failing_since) return <Badge status="failing" label={webhooks.failing} />;
  return <Badge status={status} />;
}

export function FailureRate({ endpointId }: { endpointId: string }) {
  const health = useHealth(endpointId);
  if (!health) return null;
  if (health.attempts === 0) return <span className="text-muted">—</span>;
  return <span className={health.failed_attempts > 0 ? 'text-bad' : ''}>{rateOf(health)}</span>;
}

export function RecentResults({ endpointId }: { endpointId: string }) {
  const health = useHealth(endpointId, lookEveryMs);
  if (!health) return null;
  if (health.attempts === 0) return webhooks.noRecent;
  return webhooks.recent(health.attempts.toLocaleString('en-US'), rateOf(health), String(health.median_ms ?? 0));
}

interface ProblemsProps {
  readonly endpoint: WebhookEndpoint;
  readonly reason: string | undefined;
  readonly onEnable: () => void;
  readonly busy: boolean;
}

/** Says what the merchant must look at: a disabled endpoint, and events that were not delivered. */
export function EndpointProblems({ endpoint, reason, onEnable, busy }: ProblemsProps) {
  const [asking, setAsking] = useState(false);
  const health = useHealth(endpoint.id, lookEveryMs);
  const off = endpoint.status === 'disabled';
  const failed = health?.failed_events ?? 0;
  const since = health?.first_failed_at;
  if (!off && failed === 0) return null;
  return (
    <div role="status" className="mb-5 flex flex-col gap-3 rounded-[8px] bg-bad-soft px-4 py-3 text-bad">
      {off && (
        <div className="flex flex-wrap items-center gap-3">
          <p className="grow">
            <span className="block font-medium">{webhooks.offTitle}</span>
            {endpoint.disabled_reason && <span>{endpoint.disabled_reason}</span>}
          </p>
          <Button small reason={reason} busy={busy} onClick={onEnable}>
            {webhooks.enable}
          </Button>
        </div>
      )}
      {failed > 0 && since && (
        <div className="flex flex-wrap items-center gap-3">
          <p className="grow">{webhooks.undelivered(countText(failed), dateOnly(since))}</p>
          <Button small reason={off ? webhooks.enableFirst : reason} onClick={() => setAsking(true)}>
            {webhooks.resendAll}
          </Button>
        </div>
      )}
      {asking && since && (
        <Confirm<{ resent: number }>
          title={webhooks.resendTitle}
          confirm={webhooks.resendAll}
          send={(key) =>
            call('POST', `/dashboard/webhook_endpoints/${endpoint.id}/resend_failed`, { body: { since }, key })
          }
          onDone={({ resent }) => toast(webhooks.resent(resent))}
          onClose={() => setAsking(false)}
        >
          {webhooks.resendText(countText(failed))}
        </Confirm>
      )}
    </div>
  );
}
