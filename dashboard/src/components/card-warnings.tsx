import { call } from '../api.ts';
import { useGet } from '../data.ts';
import { useCan } from '../session.ts';
import { common } from '../texts/common.ts';
import { cardNotices } from '../texts/card-notices.ts';
import type { CardWarning } from '../types.ts';
import { Button } from './button.tsx';
import { DateTime } from './date-time.tsx';
import { useAction } from './form.tsx';
import { Panel } from './page.tsx';
import { Table } from './table.tsx';
import { toast } from './toasts.tsx';

/** Warns about fields with possible card numbers, by name. The values are not stored. */
export function CardWarnings() {
  const query = useGet<{ data: readonly CardWarning[] }>(
    '/dashboard/card_warnings',
    {},
    { enabled: useCan('company:read') },
  );
  const reason = useCan('api_keys:write') ? undefined : common.notAllowed;
  const dismiss = useAction<string, unknown>({
    tells: true,
    send: (seen_by, key) => call('POST', '/dashboard/card_warnings/dismiss', { body: { seen_by }, key }),
    onDone: () => toast(cardNotices.warnings.dismissed),
  });
  const [latest, ...others] = query.data?.data ?? [];
  if (!latest) return null;
  const texts = cardNotices.warnings;
  return (
    <Panel
      title={texts.title}
      actions={
        <Button small reason={reason} busy={dismiss.busy} onClick={() => void dismiss.run(latest.last_seen_at)}>
          {texts.dismiss}
        </Button>
      }
    >
      <p role="status" className="mb-3 rounded-[8px] bg-warn-soft px-3.5 py-2.5 text-warn">
        {texts.text}
      </p>
      <Table
        label={texts.title}
        rows={[latest, ...others]}
        keyOf={({ operation, field }) => `${operation} ${field}`}
        columns={[
          { header: texts.field, cell: ({ field }) => <span className="font-mono">{field}</span>, wraps: true },
          {
            header: texts.operation,
            cell: ({ operation }) => <span className="font-mono">{operation}</span>,
            wraps: true,
          },
          { header: texts.lastSeen, cell: ({ last_seen_at }) => <DateTime at={last_seen_at} real />, wide: true },
        ]}
      />
    </Panel>
  );
}
