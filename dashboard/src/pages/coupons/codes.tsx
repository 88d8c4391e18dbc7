import { useState } from 'react';
import { call } from '../../api.ts';
import { Button } from '../../components/button.tsx';
import { CopyId } from '../../components/copy.tsx';
import { DateTime } from '../../components/date-time.tsx';
import { Dialog } from '../../components/dialog.tsx';
import { FieldRow, NumberField, TextField } from '../../components/fields.tsx';
import { Form, useForm } from '../../components/form.tsx';
import { ResourceTable } from '../../components/resource-table.tsx';
import { toast } from '../../components/toasts.tsx';
import { common } from '../../texts/common.ts';
import { coupons } from '../../texts/coupons.ts';
import type { Coupon, CouponCode } from '../../types.ts';

export function Codes({ coupon, reason }: { coupon: Coupon; reason: string | undefined }) {
  const [minting, setMinting] = useState(false);
  return (
    <section aria-label={coupons.codes}>
      <h2 className="text-lg leading-8 font-semibold sm:-mb-8 sm:max-w-fit">{coupons.codes}</h2>
      <ResourceTable<CouponCode>
        path={`/v1/coupons/${coupon.id}/codes`}
        label={coupons.codes}
        keyOf={({ id }) => id}
        actions={
          coupon.kind === 'generated' &&
          coupon.archived_at === null && (
            <Button small icon="plus" reason={reason} onClick={() => setMinting(true)}>
              {coupons.mint}
            </Button>
          )
        }
        csv={{
          name: `codes-${coupon.name.replaceAll(/\W+/g, '-').toLowerCase()}`,
          columns: [
            { header: 'code', value: ({ code }) => code },
            { header: 'redemptions', value: ({ redemptions }) => redemptions },
            { header: 'max_redemptions', value: ({ max_redemptions }) => max_redemptions },
            { header: 'created_at', value: ({ created_at }) => created_at },
          ],
        }}
        columns={[
          { header: coupons.code, cell: ({ code }) => <CopyId id={code} whole /> },
          {
            header: coupons.redeemed,
            cell: ({ redemptions, max_redemptions }) =>
              `${redemptions}${max_redemptions ? ` / ${max_redemptions}` : ''}`,
            end: true,
          },
          { header: common.created, cell: ({ created_at }) => <DateTime at={created_at} />, end: true, wide: true },
        ]}
        empty={<p className="p-6 text-center text-muted">{coupons.noCodes}</p>}
      />
      {minting && <Mint coupon={coupon} onClose={() => setMinting(false)} />}
    </section>
  );
}

function Mint({ coupon, onClose }: { coupon: Coupon; onClose: () => void }) {
  const form = useForm({
    initial: { count: '10', prefix: coupon.code_prefix ?? '', length: '10' },
    send: ({ count, prefix, length }, key) =>
      call<{ data: readonly CouponCode[] }>('POST', `/v1/coupons/${coupon.id}/codes`, {
        body: { count: Number(count), length: Number(length), ...(prefix ? { prefix } : {}) },
        key,
      }),
    onDone: ({ data }) => {
      toast(coupons.minted(data.length));
      onClose();
    },
  });
  return (
    <Dialog title={coupons.mint} onClose={onClose}>
      <Form form={form} submit={coupons.mint} onCancel={onClose}>
        <NumberField form={form} name="count" label={coupons.count} />
        <FieldRow>
          <TextField form={form} name="prefix" label={coupons.prefix} placeholder={common.optional} />
          <NumberField form={form} name="length" label={coupons.length} />
        </FieldRow>
      </Form>
    </Dialog>
  );
}
