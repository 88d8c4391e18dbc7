import Type, { type Static } from 'typebox';
import { timestamp } from '../../http/schemas.ts';

export const receipt = Type.Object(
  {
    number: Type.String({
      description: 'Given when the receipt is first requested, in sequence, unique per company.',
      examples: ['R-000042'],
    }),
    url: Type.String({ description: 'The receipt as a PDF. Anyone with the link can open it until it expires.' }),
    expires_at: timestamp({ description: 'Request the receipt again for a new link.' }),
  },
  {
    title: 'Receipt',
    examples: [
      {
        number: 'R-000042',
        url: 'https://pay.example.com/receipts/019c4c1e-0000-7a3b-9d1c-2b8f3a4e5d60/019c4c21-4a00-7e11-9b2c-6d5e4f3a2b1c.pdf?expires=1770889980&signature=…',
        expires_at: '2026-02-12T09:33:00.000Z',
      },
    ],
  },
);
export type Receipt = Static<typeof receipt>;
