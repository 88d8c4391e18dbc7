import { useQuery } from '@tanstack/react-query';
import { call } from '../api.ts';
import { useDebounced } from '../data.ts';
import { money, words } from '../format.ts';
import { useSignedIn } from '../session.ts';
import { common } from '../texts/common.ts';
import { orders } from '../texts/orders.ts';
import type { CouponValidate, CouponVerdict } from '../types.ts';
import { TextField } from './fields.tsx';
import type { FormState } from './form.tsx';

/** The discount of a code, so that the confirmed amount is the charged amount. Undefined while it is unknown. */
export function useCoupon(code: string, purchase: Omit<CouponValidate, 'code'> | undefined): CouponVerdict | undefined {
  const { company } = useSignedIn();
  const typed = code.trim();
  const wanted = useDebounced(typed && purchase ? JSON.stringify({ code: typed, ...purchase }) : '');
  const query = useQuery({
    queryKey: [company.id, 'coupon', wanted],
    queryFn: () => call<CouponVerdict>('POST', '/v1/coupons/validate', { body: JSON.parse(wanted) as CouponValidate }),
    enabled: wanted !== '',
    retry: false,
  });
  return typed && wanted ? query.data : undefined;
}

interface CouponFieldProps<Draft extends { coupon_code: string }> {
  readonly form: FormState<Draft>;
  readonly verdict: CouponVerdict | undefined;
  readonly currency: string;
}

export function CouponField<Draft extends { coupon_code: string }>({
  form,
  verdict,
  currency,
}: CouponFieldProps<Draft>) {
  // The other fields of the form do not matter here.
  const bound = form as unknown as FormState<{ coupon_code: string }>;
  const hint =
    verdict && (verdict.valid ? orders.takesOff(money(verdict.discount_amount, currency)) : words(verdict.reason));
  return (
    <div aria-live="polite">
      <TextField
        form={bound}
        name="coupon_code"
        label={orders.coupon}
        hint={hint}
        placeholder={common.optional}
        autoComplete="off"
      />
    </div>
  );
}
