import { useState } from 'react';
import { call } from '../api.ts';
import { common } from '../texts/common.ts';
import { goingLive } from '../texts/going-live.ts';
import type { CopyResult } from '../types.ts';
import { Button } from './button.tsx';
import { CopyButton } from './copy.tsx';
import { Dialog } from './dialog.tsx';
import { CheckGroup } from './fields.tsx';
import { Form, useForm } from './form.tsx';
import { Table } from './table.tsx';

const kinds = ['products', 'plans', 'coupons', 'webhook_endpoints'] as const satisfies (keyof CopyResult)[];

export function CopyFromSandbox({ onClose }: { readonly onClose: () => void }) {
  const [result, setResult] = useState<CopyResult>();
  const form = useForm({
    initial: { include: [...kinds] as string[] },
    check: ({ include }) => ({ include: include.length === 0 ? goingLive.chooseKind : undefined }),
    send: (body, key) => call<CopyResult>('POST', '/dashboard/copy_from_sandbox', { body, key }),
    onDone: setResult,
  });
  if (result) return <Copied result={result} onClose={onClose} />;
  return (
    <Dialog title={goingLive.copyTitle} onClose={onClose}>
      <Form form={form} submit={goingLive.copy} onCancel={onClose}>
        <p>{goingLive.copyText}</p>
        <CheckGroup
          label={goingLive.what}
          choices={kinds.map((value) => ({
            value,
            label: goingLive.kinds[value],
            ...(value === 'webhook_endpoints' && { hint: goingLive.endpointsHint }),
          }))}
          chosen={form.draft.include}
          onChange={(include) => form.set('include', include)}
          error={form.errorOf('include')}
        />
        <p className="text-sm text-muted">{goingLive.copyNot}</p>
      </Form>
    </Dialog>
  );
}

function Copied({ result, onClose }: { readonly result: CopyResult; readonly onClose: () => void }) {
  const { left_out, signing_secrets } = result;
  return (
    <Dialog key="result" title={goingLive.result} onClose={onClose}>
      <div className="flex flex-col gap-4">
        <Table
          label={goingLive.result}
          rows={kinds.map((kind) => ({ kind, ...result[kind] }))}
          keyOf={({ kind }) => kind}
          columns={[
            { header: goingLive.kind, cell: ({ kind }) => goingLive.kinds[kind] },
            { header: goingLive.copied, end: true, cell: ({ copied }) => copied },
            { header: goingLive.skipped, end: true, cell: ({ skipped }) => skipped },
          ]}
        />
        <p className="text-sm text-muted">{goingLive.skippedHint}</p>
        {left_out.length > 0 && (
          <Table
            label={goingLive.leftOut}
            rows={left_out.map((one, index) => ({ ...one, index }))}
            keyOf={({ index }) => String(index)}
            columns={[
              { header: goingLive.leftOut, cell: ({ name }) => name, wraps: true },
              { header: goingLive.reason, cell: ({ reason }) => reason, wraps: true },
            ]}
          />
        )}
        {signing_secrets.length > 0 && (
          <>
            <p className="rounded-[8px] bg-warn-soft px-3.5 py-2.5 text-warn">{goingLive.secrets}</p>
            <ul className="grid gap-3">
              {signing_secrets.map(({ endpoint_id, url, signing_secret }) => (
                <li key={endpoint_id} className="rounded-[8px] border border-line bg-sunken p-3">
                  <p className="mb-1 text-sm break-all">{url}</p>
                  <div className="flex flex-wrap items-center gap-3">
                    <code data-testid="secret" className="min-w-0 grow font-mono text-sm break-all">
                      {signing_secret}
                    </code>
                    <CopyButton text={signing_secret} />
                  </div>
                </li>
              ))}
            </ul>
          </>
        )}
        <div className="flex justify-end">
          <Button kind="primary" onClick={onClose}>
            {common.done}
          </Button>
        </div>
      </div>
    </Dialog>
  );
}
