import { useQueryClient } from '@tanstack/react-query';
import { useEffect, useRef, useState } from 'react';
import { call } from '../api.ts';
import { useGet, useList } from '../data.ts';
import { useCan, useSignedIn } from '../session.ts';
import { common } from '../texts/common.ts';
import { sampleData as texts } from '../texts/sample-data.ts';
import type { Customer, SampleData } from '../types.ts';
import { Button } from './button.tsx';
import { Dialog } from './dialog.tsx';
import { TextField } from './fields.tsx';
import { ErrorNote, Form, useAction, useForm } from './form.tsx';
import { toast } from './toasts.tsx';

const path = '/dashboard/sample_data';
const everyMs = 1_000;

const isBusy = (data: SampleData | undefined): boolean => data?.state === 'filling' || data?.state === 'clearing';

/** Undefined for a live company, and for a member who does not see the settings. While the worker is busy, pages show what there is so far. */
function useSampleData(): SampleData | undefined {
  const { company } = useSignedIn();
  const client = useQueryClient();
  const enabled = useCan('company:read') && company.mode === 'sandbox';
  const [busy, setBusy] = useState(false);
  const { data } = useGet<SampleData>(path, {}, { enabled, ...(busy && { everyMs }) });
  const part = isBusy(data) ? Math.floor((8 * (data?.done ?? 0)) / (data?.total || 1)) : -1;
  const shown = useRef(part);
  useEffect(() => {
    setBusy(part >= 0);
    if (shown.current !== part && shown.current >= 0) {
      const isOther = (key: readonly unknown[]): boolean => key[0] === company.id && key[1] !== path;
      void client.invalidateQueries({ predicate: ({ queryKey }) => isOther(queryKey) });
    }
    shown.current = part;
  }, [client, company.id, part]);
  return data;
}

function Progress({ data }: { readonly data: SampleData }) {
  const title = data.state === 'clearing' ? texts.clearing : texts.filling;
  return (
    <div className="rounded-[8px] bg-sunken px-4 py-3.5">
      <div className="flex items-baseline justify-between gap-3">
        <span className="font-medium">{title}</span>
        <span className="text-sm text-muted tabular-nums">{texts.percent(data.done, data.total)}</span>
      </div>
      <div
        role="progressbar"
        aria-label={title}
        aria-valuemax={data.total}
        aria-valuenow={data.done}
        className="mt-2.5 h-1.5 overflow-hidden rounded-full bg-line"
      >
        <div className="h-full rounded-full bg-accent-ink" style={{ width: texts.percent(data.done, data.total) }} />
      </div>
      {data.state === 'filling' && <p className="mt-2 text-sm text-muted">{texts.fillingText}</p>}
    </div>
  );
}

/** On the home page, while the worker fills or clears the sandbox. */
export function SampleDataNotice() {
  const data = useSampleData();
  if (!data || !isBusy(data)) return null;
  return (
    <div role="status" className="mb-6">
      <Progress data={data} />
    </div>
  );
}

function FillButton({
  kind = 'plain',
  reason,
}: {
  readonly kind?: 'plain' | 'primary';
  readonly reason?: string | undefined;
}) {
  const action = useAction<null, SampleData>({
    send: (_input, key) => call('POST', `${path}/fill`, { key }),
    onDone: () => toast(texts.begun),
  });
  return (
    <>
      <Button kind={kind} reason={reason} busy={action.busy} onClick={() => void action.run(null)}>
        {texts.fill}
      </Button>
      {action.error && <ErrorNote error={action.error} />}
    </>
  );
}

/** Beside the first steps of a company. */
export function SampleDataOffer() {
  const data = useSampleData();
  const canFill = useCan('company:write');
  if (!canFill || data?.state !== 'none') return null;
  return (
    <div className="mt-4 flex flex-wrap items-center justify-between gap-x-6 gap-y-3 rounded-[8px] bg-sunken px-4 py-3.5">
      <p>
        <span className="block font-medium">{texts.offer}</span>
        <span className="text-sm text-muted">{texts.offerText}</span>
      </p>
      <FillButton />
    </div>
  );
}

/** In the settings of a sandbox. */
export function SandboxData() {
  const data = useSampleData();
  const canWrite = useCan('company:write');
  const customers = useList<Customer>('/v1/customers', { limit: 1 }, { enabled: useCan('customers:read') });
  const [asking, setAsking] = useState(false);
  if (!data) return null;
  if (isBusy(data)) {
    return (
      <div role="status">
        <Progress data={data} />
      </div>
    );
  }
  const isEmpty = customers.data?.data.length === 0;
  const reason = canWrite ? undefined : common.notAllowed;
  return (
    <>
      {data.state === 'filled' && <p>{texts.filled}</p>}
      <div className="flex flex-wrap gap-2">
        <FillButton reason={reason ?? (isEmpty ? undefined : texts.needsEmpty)} />
        <Button reason={reason} onClick={() => setAsking(true)}>
          {texts.clear}
        </Button>
      </div>
      {asking && <ClearDialog onClose={() => setAsking(false)} />}
    </>
  );
}

function ClearDialog({ onClose }: { readonly onClose: () => void }) {
  const { company } = useSignedIn();
  const form = useForm({
    initial: { confirm: '' },
    forgettable: true,
    check: ({ confirm }) => ({
      confirm: confirm.trim() === company.name ? undefined : texts.confirmWrong(company.name),
    }),
    send: ({ confirm }, key) => call<SampleData>('POST', `${path}/clear`, { body: { confirm: confirm.trim() }, key }),
    onDone: onClose,
  });
  return (
    <Dialog title={texts.clearTitle} onClose={onClose}>
      <Form form={form} submit={texts.clear} danger onCancel={onClose}>
        <p>{texts.clearText}</p>
        <p>{texts.clearKeeps}</p>
        <TextField form={form} name="confirm" label={texts.confirm(company.name)} />
      </Form>
    </Dialog>
  );
}
