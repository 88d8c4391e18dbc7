import Type, { type Static } from 'typebox';
import { line, name, phone, typedEmail, uuid, withoutLink } from '../../http/schemas.ts';
import { limits } from '../../limits.ts';
import { taxId } from '../customers/schemas.ts';
import { shippingInput } from '../orders/schemas.ts';

/** What the checkout page sends. */

const quantities = Type.Optional(
  Type.Array(
    Type.Object(
      { product_id: uuid(), quantity: Type.Integer({ minimum: 1, maximum: limits.quantityMax }) },
      { additionalProperties: false },
    ),
    { maxItems: limits.checkoutItems },
  ),
);
const couponCode = Type.Optional(Type.String({ minLength: 1, maxLength: limits.textLength }));

export const choiceInput = Type.Object({ quantities, coupon_code: couponCode }, { additionalProperties: false });

const customer = Type.Object(
  {
    email: typedEmail(),
    first_name: withoutLink(name({ maxLength: limits.pageNameLength })),
    last_name: withoutLink(name({ maxLength: limits.pageNameLength })),
    phone: phone(),
    company: Type.Optional(withoutLink(line({ maxLength: limits.pageNameLength }))),
    tax_id: Type.Optional(taxId),
  },
  { additionalProperties: false },
);

const proof = Type.Object(
  { challenge: Type.String({ maxLength: 200 }), answer: Type.String({ maxLength: 32 }) },
  { additionalProperties: false },
);

const screenSize = Type.Integer({ minimum: 0, maximum: 100_000 });

/** What banks ask about a browser that pays. */
export const browserInput = Type.Object(
  {
    language: Type.String({ maxLength: 35 }),
    color_depth: Type.Integer({ minimum: 0, maximum: 64 }),
    screen_height: screenSize,
    screen_width: screenSize,
    time_zone_offset: Type.Integer({ minimum: -1_440, maximum: 1_440 }),
  },
  { additionalProperties: false },
);
export type BrowserInput = Static<typeof browserInput>;

/** The parameters with which the browser came back from the bank. */
export const returnInput = Type.Object(
  {
    returned: Type.Record(Type.String({ maxLength: 100 }), Type.String({ maxLength: 4_096 }), { maxProperties: 20 }),
  },
  { additionalProperties: false },
);

export const setupInput = Type.Object(
  {
    card_token: Type.String({ minLength: 1, maxLength: limits.textLength }),
    browser: Type.Optional(browserInput),
  },
  { additionalProperties: false },
);

export const abandonInput = Type.Object(
  { attempt: Type.Integer({ minimum: 0, maximum: limits.checkoutAttempts }) },
  { additionalProperties: false },
);

/** The texts that the page has shown. */
const shownText = Type.Optional(Type.String({ minLength: 1, maxLength: limits.agreementLength }));
const agreed = Type.Object(
  { terms: shownText, renewal: shownText, save_card: shownText },
  { additionalProperties: false },
);

export const paymentInput = Type.Object(
  {
    attempt: Type.Integer({ minimum: 0, maximum: limits.checkoutAttempts }),
    total: Type.Integer({ minimum: 0, maximum: limits.orderTotalCentsMax }),
    quantities,
    coupon_code: couponCode,
    card_token: Type.Optional(Type.String({ minLength: 1, maxLength: limits.textLength })),
    payment_method_id: Type.Optional(uuid()),
    save_card: Type.Optional(Type.Boolean()),
    agreed: Type.Optional(agreed),
    customer: Type.Optional(customer),
    shipping: Type.Optional(shippingInput),
    proof: Type.Optional(proof),
    browser: Type.Optional(browserInput),
  },
  { additionalProperties: false },
);
export type Payment = Static<typeof paymentInput>;
