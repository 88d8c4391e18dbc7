import { call } from '../../api.ts';
import { CheckoutPreview } from '../../components/checkout-preview.tsx';
import { Form, useForm } from '../../components/form.tsx';
import { Page, Panel } from '../../components/page.tsx';
import { toast } from '../../components/toasts.tsx';
import { coupons } from '../../texts/coupons.ts';
import type { Coupon } from '../../types.ts';
import { bodyOf, checkCoupon, CouponFields, draftOf, previewOf } from './coupon-form.tsx';
import { navigate } from '../../routing.tsx';

export function NewCouponPage() {
  const form = useForm({
    initial: draftOf(),
    check: (draft) => checkCoupon(draft),
    send: (draft, key) => {
      const codes = draft.kind === 'generated' && draft.count ? { codes: { count: Number(draft.count) } } : {};
      return call<Coupon>('POST', '/v1/coupons', { body: { ...bodyOf(draft), kind: draft.kind, ...codes }, key });
    },
    onDone: ({ id }) => {
      toast(coupons.added);
      void navigate({ to: `/coupons/${id}` });
    },
  });
  return (
    <Page title={coupons.add} back={{ to: '/coupons', label: coupons.title }}>
      <div className="grid items-start gap-x-10 lg:grid-cols-[3fr_2fr]">
        <Panel>
          <Form form={form} submit={coupons.add} onCancel={() => void navigate({ to: '/coupons' })}>
            <CouponFields form={form} editing={false} />
          </Form>
        </Panel>
        <div className="min-w-0 lg:sticky lg:top-20">
          <CheckoutPreview draft={previewOf(form.draft)} />
        </div>
      </div>
    </Page>
  );
}
