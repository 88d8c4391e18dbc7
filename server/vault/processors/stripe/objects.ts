import Type, { type Static, type TSchema } from 'typebox';
import { checkOf } from '../../../platform/schema-check.ts';

/** The parts of Stripe's objects that we read. What is missing or of another type makes the object unreadable. */

const nullable = <Schema extends TSchema>(schema: Schema) => Type.Optional(Type.Union([schema, Type.Null()]));
const text = Type.Optional(Type.Union([Type.String(), Type.Null()]));
/** Stripe gives the id of another object, or the object itself if it was asked to expand it. */
const link = Type.Optional(Type.Union([Type.String(), Type.Object({ id: Type.String() }), Type.Null()]));
const metadata = nullable(Type.Record(Type.String(), Type.String()));

const checks = nullable(Type.Object({ address_line1_check: text, address_postal_code_check: text, cvc_check: text }));
const threeDSecure = nullable(
  Type.Object({
    authentication_flow: text,
    electronic_commerce_indicator: text,
    result: text,
    version: text,
  }),
);
/** What the customer has to do. */
const nextAction = nullable(
  Type.Object({ type: Type.String(), redirect_to_url: nullable(Type.Object({ url: text })) }),
);
const card = nullable(
  Type.Object({
    three_d_secure: threeDSecure,
    checks,
    last4: text,
    authorization_code: text,
    network_transaction_id: text,
    /** Of an authorization, in seconds. */
    capture_before: nullable(Type.Integer()),
  }),
);
const paymentMethod = nullable(Type.Object({ id: Type.String(), card }));
const balanceTransaction = Type.Optional(
  Type.Union([Type.String(), Type.Object({ status: Type.String() }), Type.Null()]),
);

/** What the card network advises after a decline, in Stripe's words and in its own. */
const adviceFields = { advice_code: text, network_advice_code: text, network_decline_code: text };

const refundSchema = Type.Object({
  object: Type.Literal('refund'),
  id: Type.String(),
  amount: Type.Integer(),
  currency: Type.String(),
  created: Type.Integer(),
  status: text,
  failure_reason: text,
  payment_intent: link,
  metadata,
});

const chargeSchema = Type.Object({
  object: Type.Literal('charge'),
  id: Type.String(),
  amount: Type.Integer(),
  currency: Type.String(),
  created: Type.Integer(),
  status: Type.String(),
  captured: Type.Optional(Type.Boolean()),
  amount_captured: Type.Optional(Type.Integer()),
  payment_intent: Type.Optional(
    Type.Union([Type.String(), Type.Object({ id: Type.String(), capture_method: text, metadata }), Type.Null()]),
  ),
  metadata,
  failure_code: text,
  failure_message: text,
  outcome: nullable(
    Type.Object({ type: text, network_status: text, reason: text, seller_message: text, ...adviceFields }),
  ),
  payment_method_details: nullable(Type.Object({ card })),
  balance_transaction: balanceTransaction,
  refunds: nullable(Type.Object({ data: Type.Array(refundSchema) })),
});

const balanceTransactionSchema = Type.Object({
  object: Type.Literal('balance_transaction'),
  id: Type.String(),
  created: Type.Integer(),
  available_on: Type.Integer(),
  status: Type.String(),
  source: Type.Optional(Type.Union([Type.String(), Type.Object({ payment_intent: link, metadata }), Type.Null()])),
});

const errorFields = {
  type: Type.String(),
  code: text,
  decline_code: text,
  message: text,
  param: text,
  ...adviceFields,
};
const paymentErrorSchema = Type.Object({ ...errorFields, payment_method: paymentMethod });

const intentSchema = Type.Object({
  object: Type.Literal('payment_intent'),
  id: Type.String(),
  amount: Type.Integer(),
  amount_received: Type.Optional(Type.Integer()),
  capture_method: text,
  currency: Type.String(),
  customer: link,
  status: Type.String(),
  metadata,
  latest_charge: Type.Union([Type.String(), chargeSchema, Type.Null()]),
  next_action: nextAction,
  last_payment_error: nullable(paymentErrorSchema),
});

const setupIntentSchema = Type.Object({
  object: Type.Literal('setup_intent'),
  id: Type.String(),
  status: Type.String(),
  customer: link,
  next_action: nextAction,
  metadata,
  payment_method: Type.Optional(Type.Union([Type.String(), Type.Object({ id: Type.String(), card }), Type.Null()])),
  latest_attempt: Type.Optional(
    Type.Union([Type.String(), Type.Object({ payment_method_details: nullable(Type.Object({ card })) }), Type.Null()]),
  ),
  last_setup_error: nullable(paymentErrorSchema),
});

const disputeSchema = Type.Object({
  object: Type.Literal('dispute'),
  id: Type.String(),
  amount: Type.Integer(),
  currency: Type.String(),
  status: Type.String(),
  reason: Type.String(),
  payment_intent: link,
  evidence_details: nullable(Type.Object({ due_by: nullable(Type.Integer()) })),
  network_reason_code: text,
  payment_method_details: nullable(Type.Object({ card: nullable(Type.Object({ network_reason_code: text })) })),
});

const errorSchema = Type.Object({
  error: Type.Object({
    ...errorFields,
    payment_intent: Type.Optional(Type.Unknown()),
    setup_intent: Type.Optional(Type.Unknown()),
  }),
});

const eventSchema = Type.Object({
  object: Type.Literal('event'),
  id: Type.String(),
  type: Type.String(),
  created: Type.Integer(),
  /** Only of events that an endpoint for Connect gets. */
  account: text,
  data: Type.Object({ object: Type.Unknown() }),
});

/** A payment as endpoints with a version before 2022-11-15 get it: with the list of its charges, the last one first. */
const oldIntentSchema = Type.Object({
  object: Type.Literal('payment_intent'),
  charges: Type.Object({ data: Type.Array(Type.Unknown()) }),
});

/** An event of the second version of Stripe's API, which names an object instead of having it. */
const thinEventSchema = Type.Object({
  object: Type.Literal('v2.core.event'),
  id: Type.String(),
  type: Type.String(),
  created: Type.String(),
});

const listSchema = Type.Object({ data: Type.Array(Type.Unknown()), has_more: Type.Boolean() });
const namedSchema = Type.Object({ object: Type.String(), id: Type.String() });
const accountSchema = Type.Object({
  object: Type.Literal('account'),
  id: Type.String(),
  charges_enabled: Type.Optional(Type.Boolean()),
  email: text,
  business_profile: nullable(Type.Object({ name: text })),
  settings: nullable(Type.Object({ dashboard: nullable(Type.Object({ display_name: text })) })),
});
const balanceSchema = Type.Object({ object: Type.Literal('balance'), livemode: Type.Boolean() });

export type Checks = Static<typeof checks>;
export type NextAction = Static<typeof nextAction>;
export type Card = Static<typeof card>;
export type Intent = Static<typeof intentSchema>;
export type SetupIntent = Static<typeof setupIntentSchema>;
export type Charge = Static<typeof chargeSchema>;
export type Refund = Static<typeof refundSchema>;
export type Account = Static<typeof accountSchema>;
export type BalanceTransaction = Static<typeof balanceTransactionSchema>;
export type Dispute = Static<typeof disputeSchema>;
export type PaymentError = Static<typeof paymentErrorSchema>;
export type StripeError = Static<typeof errorSchema>['error'];

function reader<Schema extends TSchema>(schema: Schema): (value: unknown) => Static<Schema> | undefined {
  const check = checkOf(schema);
  return (value) => (check.Check(value) ? value : undefined);
}

export const readIntent = reader(intentSchema);
const readOldIntent = reader(oldIntentSchema);
/** A payment in an event: its version is the one of the endpoint, which we do not choose. */
export const readNoticedIntent = (value: unknown): Intent | undefined =>
  readIntent(value) ?? readIntent({ latest_charge: readOldIntent(value)?.charges.data[0] ?? null, ...Object(value) });
export const readCharge = reader(chargeSchema);
export const readRefund = reader(refundSchema);
export const readBalanceTransaction = reader(balanceTransactionSchema);
export const readSetupIntent = reader(setupIntentSchema);
export const readDispute = reader(disputeSchema);
export const readEvent = reader(eventSchema);
export const readThinEvent = reader(thinEventSchema);
export const readList = reader(listSchema);
export const readNamed = reader(namedSchema);
export const readAccount = reader(accountSchema);
export const readBalance = reader(balanceSchema);
const readErrorBody = reader(errorSchema);
export const readError = (value: unknown): StripeError | undefined => readErrorBody(value)?.error;

/** Undefined if Stripe gives only the id. */
export const objectOf = <Linked extends object>(value: string | Linked | null | undefined): Linked | undefined =>
  typeof value === 'object' && value ? value : undefined;

export const idOf = (value: string | { readonly id: string } | null | undefined): string | null =>
  typeof value === 'string' ? value : (value?.id ?? null);
