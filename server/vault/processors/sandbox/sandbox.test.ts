import { randomUUID } from 'node:crypto';
import { after, before } from 'node:test';
import { startTestService, type TestService } from '../../../../tests/support/service.ts';
import { CardNumber } from '../../card-number.ts';
import { processorConformance } from '../conformance.ts';
import { sandboxProcessor } from './sandbox.ts';

let service: TestService;
before(async () => {
  service = await startTestService();
});
after(() => service.stop());

const card = (digits: string) => ({
  number: new CardNumber(digits),
  cardId: randomUUID(),
  expMonth: 12,
  expYear: 2031,
});

processorConformance(
  'the sandbox',
  async () => ({
    processor: sandboxProcessor(service.vaultDb, service.keys),
    companyId: service.company.id,
    approvedCard: async () => card('4242424242424242'),
    declinedCard: async () => ({ card: card('4000000000009995'), failureCode: 'insufficient_funds' }),
  }),
  { authorizes: 'leniently' },
);

processorConformance('the sandbox, with cards that remember', async () => ({
  processor: sandboxProcessor(service.vaultDb, service.keys),
  companyId: service.company.id,
  approvedCard: async () => card('4000009999000341'),
  declinedCard: async () => ({ card: card('4000009999003220'), failureCode: 'do_not_honor' }),
}));
