import Type, { type Static } from 'typebox';
import { nullable, timestamp, uuid } from '../../http/schemas.ts';
import { limits } from '../../limits.ts';

export const customerSessionCreate = Type.Object(
  {
    customer_id: uuid(),
    return_url: Type.Optional(
      Type.String({
        format: 'uri',
        minLength: 1,
        maxLength: limits.urlLength,
        description: 'Where the page leads back to. Default: the return URL in the settings of the customer page.',
        examples: ['https://shop.example.com/account'],
      }),
    ),
  },
  { additionalProperties: false, title: 'CustomerSessionCreate' },
);
export type CustomerSessionCreate = Static<typeof customerSessionCreate>;

export const customerSession = Type.Object(
  {
    id: uuid(),
    customer_id: uuid(),
    url: nullable(
      Type.String({
        format: 'uri',
        description:
          'The page of the customer. It is only in the response that creates the session: send the customer there at once.',
      }),
    ),
    return_url: nullable(Type.String()),
    livemode: Type.Boolean(),
    expires_at: timestamp({ description: 'By real time, also if the clock of the sandbox was advanced.' }),
    created_at: timestamp(),
  },
  {
    title: 'CustomerSession',
    examples: [
      {
        id: '019c4c27-2b00-7c12-9d3e-4f5061728394',
        customer_id: '019c4c1e-6f00-7a3b-9d1c-2b8f3a4e5d60',
        url: 'https://pay.example.com/customer/2zBVmQpXcW7KfHs4RtYnJd8LgA5uEo1iTq9wZ3xCvb6MkPhNrS0y',
        return_url: 'https://shop.example.com/account',
        livemode: true,
        expires_at: '2026-02-11T10:30:00.000Z',
        created_at: '2026-02-11T09:30:00.000Z',
      },
    ],
  },
);
export type CustomerSession = Static<typeof customerSession>;

export const deletedCustomerSessions = Type.Object(
  {
    customer_id: uuid(),
    deleted_count: Type.Integer({ description: 'How many links have ended, those in emails included.' }),
  },
  {
    title: 'DeletedCustomerSessions',
    examples: [{ customer_id: '019c4c1e-6f00-7a3b-9d1c-2b8f3a4e5d60', deleted_count: 2 }],
  },
);
export type DeletedCustomerSessions = Static<typeof deletedCustomerSessions>;
