import { useGet } from '../data.ts';
import { money, words } from '../format.ts';
import { useCan, useSignedIn } from '../session.ts';
import { common } from '../texts/common.ts';
import { transactions } from '../texts/transactions.ts';
import type { ReconciliationState } from '../types.ts';
import { DateTime } from './date-time.tsx';
import { Panel } from './page.tsx';
import { Table } from './table.tsx';

/** Shown while a live company is closed after a restore, or its processor has payments that the books miss. */
export function RestoredNotice() {
  const { company } = useSignedIn();
  const enabled = useCan('transactions:read') && company.mode !== 'sandbox';
  const query = useGet<ReconciliationState>('/dashboard/reconciliation', {}, { enabled });
  const { restored_at = null, waits_for = null, data = [] } = query.data ?? {};
  if (restored_at === null && data.length === 0) return null;
  const texts = transactions.restored;
  return (
    <Panel title={restored_at === null ? texts.missingTitle : texts.title}>
      <p role="status" className="mb-3 rounded-[8px] bg-warn-soft px-3.5 py-2.5 text-warn">
        {restored_at === null ? texts.missingText : texts.text}
        {waits_for !== null && <span className="block">{texts.waitsFor[waits_for]}</span>}
      </p>
      {data.length > 0 && (
        <Table
          label={texts.missingTitle}
          rows={data}
          keyOf={({ reference }) => reference}
          columns={[
            { header: common.amount, cell: ({ amount, currency }) => money(amount ?? 0, currency ?? 'usd'), sum: true },
            { header: common.type, cell: ({ kind }) => words(kind) },
            { header: texts.card, cell: ({ card_last_four }) => card_last_four ?? '–', wide: true },
            { header: transactions.reference, cell: ({ processor_transaction_id }) => processor_transaction_id },
            { header: texts.executed, cell: ({ executed_at }) => <DateTime at={executed_at} real />, wide: true },
          ]}
        />
      )}
    </Panel>
  );
}
