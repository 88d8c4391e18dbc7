import { useState } from 'react';
import { readAmount } from '../../amounts.ts';
import { call } from '../../api.ts';
import { Button } from '../../components/button.tsx';
import { DateTime } from '../../components/date-time.tsx';
import { Dialog } from '../../components/dialog.tsx';
import { CurrencyField } from '../../components/choice-field.tsx';
import { FieldRow, MoneyField, TextField } from '../../components/fields.tsx';
import { Form, useForm } from '../../components/form.tsx';
import { Panel } from '../../components/page.tsx';
import { Table } from '../../components/table.tsx';
import { toast } from '../../components/toasts.tsx';
import { useGet } from '../../data.ts';
import { money } from '../../format.ts';
import { useCan } from '../../session.ts';
import { amounts } from '../../texts/amounts.ts';
import { common } from '../../texts/common.ts';
import { credit as texts } from '../../texts/credit.ts';
import type { CreditEntry, CustomerCredit } from '../../types.ts';
import { Link } from '../../routing.tsx';

const pathOf = (customerId: string) => `/v1/customers/${customerId}/credit`;
const firstEntries = 5;
const allEntries = 100;

type Balance = CustomerCredit['balances'][number];

export const balancesText = (balances: readonly Balance[]): string =>
  balances
    .filter(({ amount }) => amount > 0)
    .map(({ amount, currency }) => money(amount, currency))
    .join(', ');

/** Undefined until it is known, and for members who may not see credit. */
export function useBalances(customerId: string): readonly Balance[] | undefined {
  const query = { limit: firstEntries };
  return useGet<CustomerCredit>(pathOf(customerId), query, { enabled: useCan('credit:read') }).data?.balances;
}

/** The credit of a customer: the balances and what changed them. */
export function Credit({ customerId, deleted }: { customerId: string; deleted: boolean }) {
  const [limit, setLimit] = useState(firstEntries);
  const [open, setOpen] = useState<'grant' | 'take_back'>();
  const canWrite = useCan('credit:write') && !deleted;
  const { data } = useGet<CustomerCredit>(pathOf(customerId), { limit }, { keep: true });
  const balances = data?.balances.filter(({ amount }) => amount > 0) ?? [];
  return (
    <Panel
      title={texts.title}
      actions={
        canWrite && (
          <>
            {balances.length > 0 && (
              <Button small onClick={() => setOpen('take_back')}>
                {texts.takeBack}
              </Button>
            )}
            <Button small onClick={() => setOpen('grant')}>
              {texts.grant}
            </Button>
          </>
        )
      }
    >
      {data?.entries.length === 0 ? (
        <p className="py-2 text-muted">{texts.none}</p>
      ) : (
        <>
          <p className="mb-2 text-lg font-semibold tabular-nums">{data && (balancesText(balances) || texts.none)}</p>
          <Table
            label={texts.entries}
            rows={data?.entries}
            keyOf={({ id }) => id}
            columns={[
              { header: common.amount, cell: ({ amount, currency }) => money(amount, currency), sum: true },
              { header: common.details, cell: (entry) => <Why entry={entry} />, wraps: true },
              { header: common.date, cell: ({ created_at }) => <DateTime at={created_at} />, end: true },
            ]}
          />
          {data?.has_more && limit < allEntries && (
            <Button small onClick={() => setLimit(allEntries)}>
              {texts.more}
            </Button>
          )}
        </>
      )}
      {open && data && (
        <CreditForm customerId={customerId} type={open} balances={balances} onClose={() => setOpen(undefined)} />
      )}
    </Panel>
  );
}

function Why({ entry: { type, reason, order_id, subscription_id, actor } }: { entry: CreditEntry }) {
  const to = order_id ? `/orders/${order_id}` : subscription_id ? `/subscriptions/${subscription_id}` : undefined;
  return (
    <>
      {to ? (
        <Link to={to} className="hover:underline">
          {texts.types[type]}
        </Link>
      ) : (
        texts.types[type]
      )}
      {reason && (
        <span className="block text-sm text-muted wrap-anywhere">{actor ? `${reason} · ${actor}` : reason}</span>
      )}
    </>
  );
}

interface CreditFormProps {
  readonly customerId: string;
  readonly type: 'grant' | 'take_back';
  /** Those that are not zero. */
  readonly balances: readonly Balance[];
  readonly onClose: () => void;
}

function CreditForm({ customerId, type, balances, onClose }: CreditFormProps) {
  const isGrant = type === 'grant';
  const balanceIn = (currency: string): number =>
    balances.find((one) => one.currency === currency.trim().toLowerCase())?.amount ?? 0;
  const bodyOf = (draft: { amount: string; currency: string; reason: string }) => ({
    type,
    amount: readAmount(draft.amount, draft.currency).amount,
    currency: draft.currency.trim().toLowerCase(),
    reason: draft.reason.trim(),
  });
  const form = useForm({
    initial: { amount: '', currency: balances[0]?.currency ?? 'usd', reason: '' },
    check: (draft) => {
      const { amount, problem } = readAmount(draft.amount, draft.currency);
      const most = balanceIn(draft.currency);
      const tooMuch = !isGrant && amount !== undefined && amount > most;
      return {
        amount:
          problem ??
          (amount === 0 ? amounts.tooSmall : tooMuch ? texts.tooMuch(money(most, bodyOf(draft).currency)) : undefined),
        reason: draft.reason.trim() === '' ? texts.reasonMissing : undefined,
      };
    },
    send: (draft, key) => call<CreditEntry>('POST', pathOf(customerId), { body: bodyOf(draft), key }),
    onDone: () => {
      onClose();
      toast(isGrant ? texts.granted : texts.takenBack);
    },
  });
  const { currency } = form.draft;
  return (
    <Dialog title={isGrant ? texts.grant : texts.takeBackTitle} onClose={onClose}>
      <Form form={form} submit={isGrant ? texts.grant : texts.takeBack} onCancel={onClose}>
        <FieldRow>
          <MoneyField
            form={form}
            name="amount"
            label={common.amount}
            currency={currency}
            {...(!isGrant && { hint: texts.amountHint(money(balanceIn(currency), currency.trim().toLowerCase())) })}
          />
          <CurrencyField form={form} name="currency" />
        </FieldRow>
        <TextField form={form} name="reason" label={texts.reason} hint={texts.reasonHint} />
      </Form>
    </Dialog>
  );
}
