import type { CsvColumn } from '../../platform/csv.ts';
import { decimalText } from '../../platform/currencies.ts';
import type { AuditEntry } from '../audit/schemas.ts';
import type { Coupon } from '../coupons/schemas.ts';
import type { CreditEntry } from '../credit/schemas.ts';
import type { Customer } from '../customers/schemas.ts';
import type { Dispute } from '../disputes/schemas.ts';
import type { Order } from '../orders/schemas.ts';
import type { Plan } from '../plans/schemas.ts';
import type { Product } from '../products/schemas.ts';
import type { Subscription } from '../subscriptions/schemas.ts';
import type { Transaction } from '../transactions/schemas.ts';

/** The columns of a list as CSV. The dashboard uses them too, for selected rows. */

interface Exported {
  readonly orders: Order;
  readonly transactions: Transaction;
  readonly subscriptions: Subscription;
  readonly customers: Customer;
  readonly products: Product;
  readonly plans: Plan;
  readonly coupons: Coupon;
  readonly disputes: Dispute;
  readonly credit_entries: CreditEntry;
  readonly audit_log: AuditEntry;
}

type Value<Name extends keyof Exported> = CsvColumn<Exported[Name]>['value'];

const columns: { readonly [Name in keyof Exported]: Readonly<Record<string, Value<Name>>> } = {
  orders: {
    id: ({ id }) => id,
    order_number: ({ order_number }) => order_number,
    status: ({ status }) => status,
    total: ({ total, currency }) => decimalText(total, currency),
    refunded_amount: ({ refunded_amount, currency }) => decimalText(refunded_amount, currency),
    currency: ({ currency }) => currency,
    customer_id: ({ customer_id }) => customer_id,
    customer_name: ({ customer }) => customer && `${customer.first_name} ${customer.last_name}`,
    customer_email: ({ customer }) => customer?.email,
    card_brand: ({ payment_method }) => payment_method.card_brand,
    card_last_four: ({ payment_method }) => payment_method.card_last_four,
    products: ({ items }) => items.map(({ name, quantity }) => `${quantity} × ${name}`).join(', '),
    coupon_code: ({ coupon }) => coupon?.code,
    subscription_id: ({ subscription_id }) => subscription_id,
    failure_code: ({ failure_code }) => failure_code,
    created_at: ({ created_at }) => created_at,
    captured_amount: ({ captured_amount, currency }) => decimalText(captured_amount, currency),
    credit_applied: ({ credit_applied, currency }) => decimalText(credit_applied, currency),
    credit_refunded: ({ credit_refunded, currency }) => decimalText(credit_refunded, currency),
  },
  transactions: {
    id: ({ id }) => id,
    type: ({ type }) => type,
    status: ({ status }) => status,
    amount: ({ amount, currency }) => decimalText(amount, currency),
    currency: ({ currency }) => currency,
    order_id: ({ order_id }) => order_id,
    customer_id: ({ customer_id }) => customer_id,
    customer_email: ({ customer }) => customer?.email,
    processor_transaction_id: ({ processor_response }) => processor_response?.transaction_id,
    failure_code: ({ failure_code }) => failure_code,
    created_at: ({ created_at }) => created_at,
  },
  subscriptions: {
    id: ({ id }) => id,
    status: ({ status }) => status,
    customer_id: ({ customer_id }) => customer_id,
    customer_email: ({ customer }) => customer?.email,
    plan: ({ plan }) => plan.name,
    amount: ({ plan, quantity }) => decimalText(plan.amount * quantity, plan.currency),
    currency: ({ plan }) => plan.currency,
    next_billing_at: ({ next_billing_at }) => next_billing_at,
    created_at: ({ created_at }) => created_at,
  },
  customers: {
    id: ({ id }) => id,
    email: ({ email }) => email,
    first_name: ({ first_name }) => first_name,
    last_name: ({ last_name }) => last_name,
    phone: ({ phone }) => phone,
    company: ({ company }) => company,
    tax_id: ({ tax_id }) => tax_id,
    locale: ({ locale }) => locale,
    tags: ({ tags }) => tags.join(' '),
    created_at: ({ created_at }) => created_at,
  },
  products: {
    id: ({ id }) => id,
    name: ({ name }) => name,
    sku: ({ sku }) => sku,
    price: ({ pricing }) => decimalText(pricing.amount, pricing.currency),
    currency: ({ pricing }) => pricing.currency,
    availability: ({ availability }) => availability,
    inventory_quantity: ({ inventory_quantity }) => inventory_quantity,
    active: ({ active }) => active,
  },
  plans: {
    id: ({ id }) => id,
    name: ({ name }) => name,
    plan_code: ({ plan_code }) => plan_code,
    amount: ({ amount, currency }) => decimalText(amount, currency),
    currency: ({ currency }) => currency,
    interval: ({ billing_cycle }) => billing_cycle.interval,
    interval_count: ({ billing_cycle }) => billing_cycle.interval_count,
    active: ({ active }) => active,
  },
  coupons: {
    id: ({ id }) => id,
    name: ({ name }) => name,
    kind: ({ kind }) => kind,
    percentage: ({ percentage }) => percentage,
    amount: ({ amount, currency }) => (amount === null ? null : decimalText(amount, currency ?? 'usd')),
    currency: ({ currency }) => currency,
    total_redemptions: ({ total_redemptions }) => total_redemptions,
    expires_at: ({ expires_at }) => expires_at,
  },
  disputes: {
    id: ({ id }) => id,
    status: ({ status }) => status,
    amount: ({ amount, currency }) => decimalText(amount, currency),
    currency: ({ currency }) => currency,
    reason: ({ reason }) => reason,
    network_reason_code: ({ network_reason_code }) => network_reason_code,
    order_id: ({ order_id }) => order_id,
    order_number: ({ order_number }) => order_number,
    customer_id: ({ customer_id }) => customer_id,
    customer_email: ({ customer }) => customer?.email,
    processor: ({ processor }) => processor,
    evidence_due_at: ({ evidence_due_at }) => evidence_due_at,
    submitted_at: ({ submitted_at }) => submitted_at,
    created_at: ({ created_at }) => created_at,
  },
  credit_entries: {
    id: ({ id }) => id,
    type: ({ type }) => type,
    amount: ({ amount, currency }) => decimalText(amount, currency),
    balance: ({ balance, currency }) => decimalText(balance, currency),
    currency: ({ currency }) => currency,
    customer_id: ({ customer_id }) => customer_id,
    order_id: ({ order_id }) => order_id,
    subscription_id: ({ subscription_id }) => subscription_id,
    reason: ({ reason }) => reason,
    actor: ({ actor }) => actor,
    created_at: ({ created_at }) => created_at,
  },
  audit_log: {
    created_at: ({ created_at }) => created_at,
    action: ({ action }) => action,
    object_id: ({ object_id }) => object_id,
    actor: ({ actor }) => actor?.name,
    actor_id: ({ actor }) => actor?.id,
    fields: ({ fields }) => fields.join(' '),
    address: ({ address }) => address,
    request_id: ({ request_id }) => request_id,
  },
};

export type ExportedList = keyof Exported;
export const exportedLists = Object.keys(columns) as ExportedList[];

/** Those of an object that shows its customer. The list of customers itself has its own permission. */
const ofCustomer = new Set(['customer_name', 'customer_email']);

export const columnsOf = (list: ExportedList, { showsCustomers }: { showsCustomers: boolean }): CsvColumn<never>[] =>
  Object.entries(columns[list])
    .filter(([header]) => showsCustomers || !ofCustomer.has(header))
    .map(([header, value]) => ({ header, value }));
