import { ExportMenu } from '../../components/export-menu.tsx';
import { Panel } from '../../components/page.tsx';
import { Sums } from '../../components/sums.tsx';
import { money } from '../../format.ts';
import { credit as texts } from '../../texts/credit.ts';
import type { CreditOwed as Owed } from '../../types.ts';

/** What the company owes its customers as credit. For the books, each change of it can be exported. */
export function CreditOwed({ sums }: { sums: Owed['data'] }) {
  return (
    <Panel title={texts.owed} actions={<ExportMenu list="credit_entries" query={{}} />}>
      <Sums
        sums={sums.map(
          ({ currency, amount, customers }) => [texts.ofCustomers(customers), money(amount, currency)] as const,
        )}
      />
      <p className="mt-2 text-sm text-muted">{texts.owedHint}</p>
    </Panel>
  );
}
