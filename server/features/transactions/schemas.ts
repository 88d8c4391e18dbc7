import Type, { type Static } from 'typebox';
import { metadata, nullable, timestamp, uuid } from '../../http/schemas.ts';
import { customer } from '../customers/schemas.ts';
import { failureCode, order, transactionStatus, transactionType } from '../orders/schemas.ts';
import { paymentMethodSummary } from '../payment-methods/schemas.ts';
import { choice } from '../../platform/choice.ts';
import { authenticationFlows, authenticationStatuses } from '../../vault/processors/authentication.ts';

const text = nullable(Type.String());

const authentication = Type.Object(
  {
    status: choice(authenticationStatuses, {
      title: 'AuthenticationStatus',
      description:
        '`attempted`: the bank could not ask the customer, and takes part in 3-D Secure. `exempted`: the customer was not asked, because the ' +
        'payment is exempt. `unavailable`: the bank could not be reached.',
    }),
    flow: nullable(
      choice(authenticationFlows, {
        title: 'AuthenticationFlow',
        description: '`challenge`: the customer confirmed the payment. `frictionless`: the bank did not ask.',
      }),
    ),
    liability_shifted: nullable(
      Type.Boolean({
        description: 'Whether the bank bears the loss of a fraud. Null if the processor does not say so.',
      }),
    ),
    version: nullable(Type.String({ description: 'The version of 3-D Secure.' })),
    eci: nullable(Type.String({ description: 'The electronic commerce indicator of the card network.' })),
  },
  { title: 'Authentication', description: 'How the bank authenticated the customer (3-D Secure). Null if it did not.' },
);

export const transaction = Type.Object(
  {
    id: uuid(),
    type: transactionType,
    status: transactionStatus,
    amount: Type.Integer({ description: 'In the smallest unit of the currency.' }),
    currency: Type.String(),
    customer_id: uuid(),
    customer: Type.Optional(customer),
    order_id: nullable(uuid()),
    order: Type.Optional(order),
    payment_method: nullable(paymentMethodSummary),
    processor_response: nullable(
      Type.Object(
        {
          transaction_id: text,
          authorization_code: text,
          avs_result: text,
          cvv_result: text,
          response_code: text,
          response_text: text,
        },
        { title: 'ProcessorResponse' },
      ),
    ),
    authentication: nullable(authentication),
    failure_reason: nullable(Type.String({ description: 'Only for a failed transaction.' })),
    failure_code: nullable(failureCode),
    description: nullable(Type.String({ description: 'Description of the order.' })),
    metadata,
    settled_at: nullable(
      timestamp({
        description: 'When the processor reported the settlement; null if it has not, or never reports it.',
      }),
    ),
    created_at: timestamp(),
    updated_at: timestamp(),
  },
  {
    title: 'Transaction',
    examples: [
      {
        id: '019c4c21-4a00-7e12-8c3d-7e6f5a4b3c2d',
        type: 'sale',
        status: 'succeeded',
        amount: 9800,
        currency: 'usd',
        customer_id: '019c4c1e-6f00-7a3b-9d1c-2b8f3a4e5d60',
        order_id: '019c4c21-4a00-7e11-9b2c-6d5e4f3a2b1c',
        payment_method: { id: '019c4c20-1a2b-7c3d-8e4f-5a6b7c8d9e0f', card_last_four: '4242', card_brand: 'visa' },
        processor_response: {
          transaction_id: 'sbx_019c4c214a007e128c3d7e6f5a4b3c2d',
          authorization_code: '4B3C2D',
          avs_result: 'Y',
          cvv_result: 'M',
          response_code: '00',
          response_text: 'Approved',
        },
        authentication: null,
        failure_reason: null,
        failure_code: null,
        description: null,
        metadata: {},
        settled_at: null,
        created_at: '2026-02-11T09:33:00.000Z',
        updated_at: '2026-02-11T09:33:00.020Z',
      },
    ],
  },
);
export type Transaction = Static<typeof transaction>;
