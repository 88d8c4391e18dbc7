import { useState } from 'react';
import { call, changeField } from '../../api.ts';
import { Badge } from '../../components/badge.tsx';
import { Button } from '../../components/button.tsx';
import { Confirm } from '../../components/confirm.tsx';
import { CopyId } from '../../components/copy.tsx';
import { DateTime } from '../../components/date-time.tsx';
import { Dialog } from '../../components/dialog.tsx';
import { Form, useAction } from '../../components/form.tsx';
import { Facts, LoadWhole, Page, Panel } from '../../components/page.tsx';
import { toast } from '../../components/toasts.tsx';
import { useGet } from '../../data.ts';
import { money } from '../../format.ts';
import { useCan } from '../../session.ts';
import { useEditForm } from '../../components/edit-form.tsx';
import { common } from '../../texts/common.ts';
import { coupons } from '../../texts/coupons.ts';
import type { Coupon } from '../../types.ts';
import { Codes } from './codes.tsx';
import { bodyOf, checkCoupon, couponFields, CouponFields, draftOf } from './coupon-form.tsx';
import { couponState, discountText } from './discount.ts';
import { useParams } from '../../routing.tsx';

export function CouponPage() {
  const { id = '' } = useParams();
  const path = `/v1/coupons/${id}`;
  const query = useGet<Coupon>(path);
  return (
    <LoadWhole query={query} path={path}>
      {(coupon) => <Details coupon={coupon} />}
    </LoadWhole>
  );
}

function Details({ coupon }: { coupon: Coupon }) {
  const [open, setOpen] = useState<'edit' | 'archive'>();
  const reason = useCan('coupons:write') ? undefined : common.notAllowed;
  const close = () => setOpen(undefined);
  const path = `/v1/coupons/${coupon.id}`;
  const archived = coupon.archived_at !== null;
  const toggle = useAction<boolean, Coupon>({
    tells: true,
    send: (active, key) => changeField(path, 'active', active, key),
    onDone: ({ active }) => toast(active ? coupons.activated : coupons.deactivated),
  });
  return (
    <Page
      title={coupon.name}
      badge={<Badge status={couponState(coupon)} />}
      lead={discountText(coupon)}
      back={{ to: '/coupons', label: coupons.title }}
      actions={
        <>
          {!archived && (
            <>
              <Button reason={reason} onClick={() => setOpen('edit')}>
                {common.edit}
              </Button>
              <Button reason={reason} busy={toggle.busy} onClick={() => void toggle.run(!coupon.active)}>
                {coupon.active ? coupons.deactivate : coupons.activate}
              </Button>
            </>
          )}
          <Button reason={reason} onClick={() => setOpen('archive')}>
            {archived ? coupons.unarchive : coupons.archive}
          </Button>
        </>
      }
    >
      <Panel title={common.details}>
        <Facts
          facts={[
            [common.id, <CopyId key="id" id={coupon.id} />],
            [coupons.kind, coupons.kindsShort[coupon.kind]],
            coupon.description !== null && [common.description, coupon.description],
            [coupons.redeemed, coupon.total_redemptions],
            [
              coupons.duration,
              `${coupons.durations[coupon.duration]}${coupon.duration_in_cycles ? ` (${coupon.duration_in_cycles})` : ''}`,
            ],
            coupon.max_discount_amount !== null && [
              coupons.maxDiscount,
              money(coupon.max_discount_amount, coupon.currency),
            ],
            coupon.minimum_amount > 0 && [coupons.minimum, money(coupon.minimum_amount, coupon.currency)],
            ...limitsOf(coupon),
            coupon.first_time_customer_only && [coupons.firstTime, common.yes],
            [coupons.appliesTo, coupons.scope(coupon.product_scope, coupon.plan_scope)],
            coupon.starts_at !== null && [coupons.startsShort, <DateTime key="starts" at={coupon.starts_at} />],
            [
              coupons.expiresShort,
              coupon.expires_at === null ? coupons.never : <DateTime key="expires" at={coupon.expires_at} />,
            ],
            [common.created, <DateTime key="created" at={coupon.created_at} />],
          ]}
        />
      </Panel>
      <Codes coupon={coupon} reason={reason} />
      {open === 'edit' && <EditCoupon coupon={coupon} onClose={close} />}
      {open === 'archive' && (
        <Confirm
          title={archived ? coupons.unarchive : coupons.archive}
          confirm={archived ? coupons.unarchive : coupons.archive}
          done={archived ? coupons.unarchivedToast : coupons.archivedToast}
          send={(key) => call('POST', `${path}/archive`, { body: { archived: !archived }, key })}
          onClose={close}
        >
          {archived ? coupon.name : coupons.archiveText}
        </Confirm>
      )}
    </Page>
  );
}

/** Only the limits that there are. */
function limitsOf(coupon: Coupon): (readonly [string, number | string])[] {
  const limits = [
    [coupons.uses(coupons.maxAll), coupon.max_redemptions],
    [coupons.uses(coupons.maxCustomer), coupon.max_redemptions_per_customer],
    [coupons.uses(coupons.maxCode), coupon.kind === 'generated' ? coupon.max_redemptions_per_code : null],
  ] as const;
  const known = limits.flatMap(([label, value]) => (value === null ? [] : [[label, value] as const]));
  return known.length > 0 ? known : [[coupons.limits, coupons.limitHint]];
}

function EditCoupon({ coupon, onClose }: { coupon: Coupon; onClose: () => void }) {
  const form = useEditForm({
    object: coupon,
    path: `/v1/coupons/${coupon.id}`,
    draftOf,
    bodyOf,
    fields: couponFields,
    check: (draft) => checkCoupon(draft, coupon),
    onDone: () => {
      toast(common.saved);
      onClose();
    },
  });
  return (
    <Dialog title={coupons.edit} onClose={onClose}>
      <Form form={form} submit={common.save} onCancel={onClose}>
        <CouponFields form={form} editing />
      </Form>
    </Dialog>
  );
}
