import { useQuery, keepPreviousData } from '@tanstack/react-query';
import { call } from '../../api.ts';
import { cyclesOf, joinFree } from '../../bills.ts';
import { DaysOf } from '../../components/date-time.tsx';
import { Panel } from '../../components/page.tsx';
import { Table } from '../../components/table.tsx';
import { useDebounced } from '../../data.ts';
import { moneySentence } from '../../error-texts.ts';
import { amountOrFree } from '../../format.ts';
import { useSignedIn } from '../../session.ts';
import { common } from '../../texts/common.ts';
import { plans } from '../../texts/plans.ts';
import type { BillPreview } from '../../types.ts';

interface PreviewInput {
  readonly billing_cycle: {
    readonly interval: string;
    readonly interval_count: number;
    readonly anchor_day: number | 'signup_date';
  };
  readonly amount: number;
  readonly one_time_amount?: number;
  readonly billing_cycles?: number;
}

interface PreviewProps {
  /** Undefined while an amount is missing or wrong: then there is nothing to calculate. */
  readonly input: PreviewInput | undefined;
  readonly currency: string;
}

/** The next payment dates, calculated by the billing code of the service. */
export function Preview({ input, currency }: PreviewProps) {
  return (
    <Panel title={plans.preview}>
      <p className="mb-2 text-muted">{plans.previewLead}</p>
      <div aria-live="polite">
        {input ? (
          <Payments input={input} currency={currency} />
        ) : (
          <p className="py-2 text-muted">{plans.previewNone}</p>
        )}
      </div>
    </Panel>
  );
}

function Payments({ input, currency }: { readonly input: PreviewInput; readonly currency: string }) {
  const { company } = useSignedIn();
  const wanted = useDebounced(JSON.stringify(input));
  const query = useQuery({
    queryKey: [company.id, 'plan preview', wanted],
    queryFn: () => call<BillPreview>('POST', '/dashboard/plans/preview', { body: JSON.parse(wanted) as PreviewInput }),
    placeholderData: keepPreviousData,
  });
  const isFree = query.data?.data.every(({ amount }) => amount === 0) ?? false;
  if (query.error) return <p className="py-2 text-muted">{moneySentence(query.error.message, currency)}</p>;
  if (isFree) return <p className="py-2 text-muted">{plans.previewFree}</p>;
  return (
    <Table
      label={plans.preview}
      rows={query.data && joinFree(query.data.data, ({ amount }) => amount)}
      keyOf={cyclesOf}
      columns={[
        { header: plans.number, cell: cyclesOf },
        { header: common.date, cell: ({ first, last }) => <DaysOf first={first.at} last={last.at} day /> },
        { header: common.amount, cell: ({ first }) => amountOrFree(first.amount, currency), end: true },
      ]}
    />
  );
}
