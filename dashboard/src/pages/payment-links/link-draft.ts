import { readAmount } from '../../amounts.ts';
import type { CheckoutDraft } from '../../components/checkout-preview.tsx';
import { checkLines, emptyLine, itemsOf, type Line } from '../../components/product-lines.tsx';
import { common } from '../../texts/common.ts';
import { paymentLinks } from '../../texts/payment-links.ts';
import { preview } from '../../texts/preview.ts';
import type { Plan } from '../../types.ts';

/** What the form of a new payment link holds, and the request that it becomes. */

type Sold = 'new' | 'products' | 'plan';

export const initialDraft = {
  sells: 'new' as Sold,
  title: '',
  amount: '',
  currency: 'usd',
  lines: [emptyLine(0)] as readonly Line[],
  plan: undefined as Plan | undefined,
  name: '',
  adjustable: false,
  allow_coupons: false,
  manual: false,
  shipping: false,
  company: false,
  max_payments: '',
  ends_at: '',
  success_url: '',
  locale: '',
};
export type LinkDraft = typeof initialDraft;

/** Where the API reports mistakes of the product that is created with the link. */
export const newProductPath = 'items[0].product';

const adjustableMax = 99;

const itemsSold = ({ sells, title, amount, currency, shipping, lines }: LinkDraft) =>
  sells === 'products'
    ? itemsOf(lines)
    : [
        {
          product: {
            name: title.trim(),
            pricing: { amount: readAmount(amount, currency).amount, currency },
            requires_shipping: shipping,
          },
          quantity: 1,
        },
      ];

function offerOf(draft: LinkDraft): object {
  if (draft.sells === 'plan') return { mode: 'subscription', plan_id: draft.plan?.id };
  const items = itemsSold(draft).map((item) =>
    draft.adjustable ? { ...item, quantity_min: 1, quantity_max: Math.max(item.quantity, adjustableMax) } : item,
  );
  return { mode: 'payment', ...captureOf(draft), items };
}

const captureOf = ({ manual }: LinkDraft): object => (manual ? { capture: 'manual' } : {});

/** A link without a name is called after what it sells. */
function nameOf({ name, sells, title, plan, lines }: LinkDraft): string {
  const products = lines.flatMap(({ product }) => (product ? [product.name] : []));
  const sold = { new: title, products: products.join(', '), plan: plan?.name ?? '' }[sells];
  return name.trim() || sold.trim().slice(0, nameLength);
}

const nameLength = 255;

const collectedBy = ({ shipping, company }: LinkDraft): string[] => [
  ...(shipping ? ['shipping'] : []),
  ...(company ? ['company'] : []),
];

export function bodyOf(draft: LinkDraft): object {
  const { allow_coupons, max_payments, ends_at, success_url, locale } = draft;
  return {
    name: nameOf(draft),
    ...offerOf(draft),
    allow_coupons,
    collect: collectedBy(draft),
    ...(max_payments ? { max_payments: Number(max_payments) } : {}),
    ...(ends_at ? { ends_at: endOfDay(ends_at) } : {}),
    ...(success_url.trim() ? { success_url: success_url.trim() } : {}),
    ...(locale ? { locale } : {}),
  };
}

/** What the page shows so far. Until something is chosen, it shows an example. */
export function previewOf(draft: LinkDraft): CheckoutDraft {
  const sold = soldSoFar(draft);
  const capture = draft.sells === 'plan' ? {} : captureOf(draft);
  return { ...sold, ...capture, allow_coupons: draft.allow_coupons, collect: collectedBy(draft) };
}

function soldSoFar(draft: LinkDraft): CheckoutDraft {
  const { sells, title, amount, currency, adjustable } = draft;
  if (sells === 'plan') return draft.plan ? { ...offerOf(draft) } : { mode: 'subscription' };
  if (sells === 'products') {
    const lines = draft.lines.filter(({ product, quantity }) => product && /^[1-9]\d{0,3}$/.test(quantity.trim()));
    return lines.length > 0 ? { ...offerOf({ ...draft, lines }) } : { mode: 'payment' };
  }
  const price = readAmount(amount, currency).amount;
  if (!title.trim() && price === undefined) return { mode: 'payment' };
  const product = { name: title.trim() || preview.product, amount: price ?? 0, currency };
  return { mode: 'payment', product: { ...product, ...(adjustable && { quantity_max: adjustableMax }) } };
}

export const endOfDay = (day: string): string => `${day}T23:59:59.999Z`;

const checks: Readonly<Record<Sold, (draft: LinkDraft) => Record<string, string | undefined>>> = {
  new: ({ title, amount, currency }) => ({
    [`${newProductPath}.name`]: title.trim() ? undefined : common.required,
    [`${newProductPath}.pricing.amount`]: readAmount(amount, currency).problem,
  }),
  products: ({ lines }) => checkLines(lines, 'items'),
  plan: ({ plan }) => ({ plan_id: plan ? undefined : paymentLinks.choosePlan }),
};

export const check = (draft: LinkDraft): Record<string, string | undefined> => checks[draft.sells](draft);
