import { type ComponentType, lazy } from 'react';
import { customers } from './texts/customers.ts';
import { plans } from './texts/plans.ts';
import { products } from './texts/products.ts';

interface CreationProps {
  /** What was typed in the list that lacks it. */
  readonly name: string;
  readonly onClose: () => void;
  readonly onDone: (made: { readonly id: string }) => void;
}

interface Creation {
  readonly permission: string;
  readonly label: string;
  readonly Dialog: ComponentType<CreationProps>;
}

/** How a form creates what it refers to, by the list that it chooses from. The dialogs are loaded when they are opened. */
export const creations: Readonly<Record<string, Creation>> = {
  '/v1/products': {
    permission: 'products:write',
    label: products.add,
    Dialog: lazy(async () => ({ default: (await import('./pages/products/product-form.tsx')).ProductForm })),
  },
  '/v1/customers': {
    permission: 'customers:write',
    label: customers.add,
    Dialog: lazy(async () => ({ default: (await import('./pages/customers/customer-form.tsx')).CustomerForm })),
  },
  '/v1/plans': {
    permission: 'plans:write',
    label: plans.add,
    Dialog: lazy(async () => ({ default: (await import('./pages/plans/plan-form.tsx')).PlanDialog })),
  },
};
