import { ExportMenu } from '../../components/export-menu.tsx';
import { Panel } from '../../components/page.tsx';
import { Sums } from '../../components/sums.tsx';
import { useGet } from '../../data.ts';
import { money } from '../../format.ts';
import { useCan } from '../../session.ts';
import { credit as texts } from '../../texts/credit.ts';
import type { CreditOwed as Owed } from '../../types.ts';

/** What the company owes its customers as credit. Not shown if there never was any. For the books, each change of it can be exported. */
export function CreditOwed() {
  const { data } = useGet<Owed>('/dashboard/credit', {}, { enabled: useCan('credit:read') });
  if (!data || data.data.length === 0) return null;
  return (
    <Panel title={texts.owed} actions={<ExportMenu list="credit_entries" query={{}} />}>
      <Sums
        sums={data.data.map(
          ({ currency, amount, customers }) => [texts.ofCustomers(customers), money(amount, currency)] as const,
        )}
      />
      <p className="mt-2 text-sm text-muted">{texts.owedHint}</p>
    </Panel>
  );
}
