import { addressLines, amountText, cardText, dateText } from '../../customer-texts/formats.ts';
import { createdAt } from '../../platform/ids.ts';
import type { EvidenceText } from '../../vault/processors/notices.ts';
import type { AuthenticationResult } from '../../vault/processors/authentication.ts';
import type { Consent } from '../consents/schemas.ts';
import type { Customer } from '../customers/schemas.ts';
import type { Order } from '../orders/schemas.ts';
import { paidOf } from '../orders/service.ts';
import type { Subscription } from '../subscriptions/schemas.ts';
import type { CustomerPast, SentEmail, SoldProduct } from './suggestion-queries.ts';

/** A first draft of evidence for the bank. Each line says one thing that is recorded, and where. Pure functions without I/O. */

export const evidenceSources = [
  'order',
  'receipt',
  'emails',
  'shipping',
  'customer',
  'history',
  'checkout',
  'subscription',
  'products',
  'processor',
  'metadata',
  'settings',
] as const;
type EvidenceSource = (typeof evidenceSources)[number];

interface Line {
  readonly text: string;
  readonly source: EvidenceSource;
}

export type EvidenceDraft = Readonly<Partial<Record<EvidenceText, readonly Line[]>>>;

export interface KnownFacts {
  readonly order: Order;
  /** Undefined for those who may not read customers. */
  readonly customer: Customer | undefined;
  readonly past: CustomerPast | undefined;
  readonly receipt: { readonly number: string; readonly created_at: Date } | undefined;
  readonly emails: readonly SentEmail[];
  readonly paidOnPageAt: Date | undefined;
  readonly consents: readonly Consent[];
  readonly checks: { readonly cvv: string | null; readonly avs: string | null } | undefined;
  readonly authentication: AuthenticationResult | undefined;
  readonly products: readonly SoldProduct[];
  readonly subscription: Subscription | undefined;
  /** Whether customers can end a subscription on their page. */
  readonly canCancel: boolean;
}

const line = (source: EvidenceSource, text: string): Line => ({ source, text });

export function draftOf(facts: KnownFacts): EvidenceDraft {
  const all: EvidenceDraft = {
    explanation: explanation(facts),
    product_description: descriptions(facts),
    customer_communication: communication(facts),
    service_date: serviceDate(facts),
    ...shippingOf(facts),
    refund_policy: refundPolicy(facts),
    cancellation_policy: cancellationPolicy(facts),
  };
  return Object.fromEntries(Object.entries(all).filter(([, lines]) => lines.length > 0));
}

function explanation(facts: KnownFacts): Line[] {
  const { order, customer, receipt, paidOnPageAt } = facts;
  const card = cardText(order.payment_method.card_brand, order.payment_method.card_last_four);
  const amount = amountText(paidOf(order), order.currency);
  const placed = `Order ${order.order_number} was placed on ${dateText(order.created_at)} and paid with ${card}: ${amount}.`;
  return [
    line('order', placed),
    ...(customer
      ? [
          line(
            'customer',
            `Customer: ${customer.first_name} ${customer.last_name}, ${customer.email}, ${customer.phone}.`,
          ),
        ]
      : []),
    ...(paidOnPageAt
      ? [
          line(
            'checkout',
            `The customer entered the card on our checkout page and confirmed the payment on ${timeText(paidOnPageAt)}.`,
          ),
        ]
      : []),
    ...agreedOf(facts),
    ...subscriptionTerms(facts),
    ...checksOf(facts),
    ...(receipt ? [line('receipt', `Receipt ${receipt.number} was issued on ${dateText(receipt.created_at)}.`)] : []),
    ...deliveryOf(facts),
    ...historyOf(facts),
    ...(order.refunded_amount > 0
      ? [line('order', `We have already refunded ${amountText(order.refunded_amount, order.currency)}.`)]
      : []),
  ];
}

/** Banks compare it with their own records, which are in UTC. */
const timeText = (at: Date): string => `${dateText(at)}, ${at.toISOString().slice(11, 16)} UTC`;

const agreedOf = ({ consents }: KnownFacts): Line[] =>
  consents.map(({ text, version, url, given_at }) => {
    const where = url === null ? '' : ` (${url}, version ${version})`;
    return line('checkout', `On ${timeText(new Date(given_at))}, the customer agreed to: “${text}”${where}`);
  });

function subscriptionTerms({ order, subscription }: KnownFacts): Line[] {
  if (!subscription) return [];
  const { interval, interval_count: count } = subscription.billing_cycle;
  const every = count === 1 ? interval : `${count} ${interval}s`;
  const price = amountText(subscription.plan.amount * subscription.quantity, subscription.plan.currency);
  const agreed = `The customer subscribed to ${subscription.plan.name} on ${dateText(subscription.created_at)}, at ${price} every ${every}.`;
  const isForChange = typeof order.subscription_change === 'number';
  const paid = isForChange
    ? `This is the payment of a change: ${order.description}.`
    : `This is payment ${order.subscription_cycle ?? 1}.`;
  return [line('subscription', `${agreed} ${paid}`)];
}

const authenticated: Readonly<Partial<Record<AuthenticationResult['status'], string>>> = {
  authenticated: 'The bank of the cardholder authenticated the cardholder for this payment',
  attempted: 'Authentication was attempted for this payment, and the bank of the cardholder answered for it',
};

function authenticationOf({ authentication }: KnownFacts): Line[] {
  const said = authentication && authenticated[authentication.status];
  if (!said) return [];
  const { version, eci, flow, liabilityShifted } = authentication;
  const details = [`3-D Secure${version === null ? '' : ` ${version}`}`, ...(eci === null ? [] : [`ECI ${eci}`])].join(
    ', ',
  );
  const how = flow === 'challenge' ? ' The cardholder confirmed it with the bank.' : '';
  const shift = liabilityShifted === true ? ' The liability for fraud has shifted to the issuer.' : '';
  return [line('processor', `${said} (${details}).${how}${shift}`)];
}

function checksOf(facts: KnownFacts): Line[] {
  const { checks } = facts;
  return [
    ...authenticationOf(facts),
    ...(checks?.cvv === 'M' ? [line('processor', 'The bank confirmed the security code of the card.')] : []),
    ...(checks?.avs === 'Y' ? [line('processor', 'The bank confirmed the billing address.')] : []),
  ];
}

function deliveryOf({ order, customer }: KnownFacts): Line[] {
  if (!order.shipping || !customer) return [];
  const { name, ...address } = order.shipping;
  return [line('shipping', `Delivery address: ${[name, ...addressLines(address)].filter(Boolean).join(', ')}.`)];
}

function historyOf({ past }: KnownFacts): Line[] {
  if (!past?.first_id || past.paid === 0) return [];
  const { paid, same_card: same, disputed } = past;
  const orders = paid === 1 ? 'one earlier order' : `${paid} earlier orders`;
  const card = same > 0 ? `, ${same === paid && paid > 1 ? 'all' : same} with the same card` : '';
  const none = disputed === 0 ? ` ${paid === 1 ? 'It was not disputed.' : 'None of them was disputed.'}` : '';
  return [
    line('history', `The customer has paid ${orders} since ${dateText(createdAt(past.first_id))}${card}.${none}`),
  ];
}

const descriptionLength = 500;

function descriptions({ order, products, subscription }: KnownFacts): Line[] {
  const known = new Map(products.map((product) => [product.id, product]));
  return [
    ...(subscription ? [line('subscription', subscription.plan.name)] : []),
    ...order.items.map(({ product_id, name, quantity, unit_price }) => {
      const price = unit_price === null ? '' : `, ${amountText(unit_price, order.currency)} each`;
      const text = known.get(product_id)?.description?.slice(0, descriptionLength);
      return line(text ? 'products' : 'order', `${quantity} × ${name}${price}${text ? `: ${text}` : ''}`);
    }),
  ];
}

const communication = ({ emails, customer }: KnownFacts): Line[] =>
  customer
    ? emails.map(({ subject, recipient, sent_at }) =>
        line('emails', `${timeText(sent_at)}: we sent “${subject}” to ${recipient}.`),
      )
    : [];

/** A subscription, and products that are not shipped, are provided when they are paid. */
function serviceDate({ order, products }: KnownFacts): Line[] {
  if (products.some(({ requires_shipping }) => requires_shipping)) return [];
  return [line('order', order.created_at.slice(0, 10))];
}

/** Names under which merchants store it with the order. */
const metadataNames = {
  shipping_date: ['shipping_date', 'shipped_at', 'ship_date'],
  shipping_carrier: ['shipping_carrier', 'carrier'],
  shipping_tracking_number: ['shipping_tracking_number', 'tracking_number', 'tracking'],
} as const;

function shippingOf({ order }: KnownFacts): EvidenceDraft {
  const found = Object.entries(metadataNames).map(([field, names]) => {
    const values = names.map((name) => order.metadata[name]).filter((one) => typeof one === 'string');
    const value = values.find((text) => text.trim() !== '');
    return [field, value === undefined ? [] : [line('metadata', value)]];
  });
  return Object.fromEntries(found) as EvidenceDraft;
}

function refundPolicy({ order, products }: KnownFacts): Line[] {
  const names = new Map(order.items.map(({ product_id, name }) => [product_id, name]));
  return products.flatMap(({ id, return_window: days }) =>
    days === null
      ? []
      : [
          line(
            'products',
            `${names.get(id) ?? ''}: ${days === 0 ? 'no returns' : `can be returned within ${days} days`}.`,
          ),
        ],
  );
}

const cancellationPolicy = ({ subscription, canCancel }: KnownFacts): Line[] =>
  subscription && canCancel
    ? [line('settings', 'Customers can cancel at any time on their customer page, to which our emails link.')]
    : [];
