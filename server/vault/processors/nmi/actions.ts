import type { Answer, Silence } from '../exchange.ts';
import type { LookupOutcome, LookupRequest, Outcome, Processor } from '../processor.ts';
import { chargeIn, type OfCharge, type Reading, readingOf } from './answers.ts';
import { captured } from './held-funds.ts';
import type { Reports } from './reports.ts';
import { type CaptureFields, captureFields, moneyProblem, type VoidFields, voidFields } from './requests.ts';

/** Captures and voids: actions on a charge or an authorization, which have no order id of their own. */

/** The report decides about an answer that proves nothing by itself. */
export async function checked({ outcome, mustCheck }: Reading, look: () => Promise<LookupOutcome>): Promise<Outcome> {
  if (!mustCheck) return outcome;
  const found = await look();
  if (found.outcome === 'not_found') return outcome;
  return found.outcome === 'unknown' && outcome.outcome === 'unknown' ? outcome : found;
}

/** NMI captures, refunds and voids by its own id of the charge. */
export async function transactionOf(reports: Reports, request: OfCharge): Promise<string | Outcome> {
  if (request.chargeTransactionId !== undefined) return request.chargeTransactionId;
  const asked = await reports.transactions({ order_id: request.chargeReference ?? '' });
  if ('outcome' in asked) return { outcome: 'not_sent', reason: asked.reason };
  const charge = chargeIn(asked.content, request);
  return charge?.id ?? { outcome: 'not_sent', reason: 'NMI has no such charge', failureCode: 'validation_error' };
}

/** Why an authorization is not voided; undefined if it is not captured. NMI would void a capture that has not settled, too. */
async function capturedBefore(reports: Reports, about: LookupRequest): Promise<Outcome | undefined> {
  const found = await reports.lookUpCapture(about);
  if (found.outcome === 'unknown') return { outcome: 'not_sent', reason: found.reason };
  return found.outcome === 'approved' ? captured() : undefined;
}

interface Sending {
  post(fields: CaptureFields | VoidFields): Promise<Answer | Silence>;
  expired(request: { readonly validUntilMs: number }): Outcome | undefined;
}

export function actionsOn(reports: Reports, { post, expired }: Sending): Required<Pick<Processor, 'capture' | 'void'>> {
  return {
    async capture(request) {
      const problem = moneyProblem(request, []);
      if (problem) return problem;
      const transactionId = await transactionOf(reports, request);
      if (typeof transactionId !== 'string') return transactionId;
      const late = expired(request);
      if (late) return late;
      const { companyId, reference, chargeReference, amount, currency } = request;
      const sent = { amount, currency, last4: null };
      const about = { companyId, reference, sent, chargeReference, chargeTransactionId: transactionId };
      // NMI captures an authorization once, so a repetition is refused and found in the report.
      const answer = await post(captureFields(transactionId, request));
      const reading = readingOf(answer, { type: 'capture', reference: null, transactionId });
      return checked(reading, () => reports.lookUpCapture(about));
    },
    async void(request) {
      const transactionId = await transactionOf(reports, request);
      if (typeof transactionId !== 'string') return transactionId;
      const { companyId, reference, chargeReference } = request;
      const about = { companyId, reference, chargeReference, chargeTransactionId: transactionId };
      const taken = request.ofAuthorization ? await capturedBefore(reports, about) : undefined;
      const stopped = taken ?? expired(request);
      if (stopped) return stopped;
      const answer = await post(voidFields(transactionId));
      const reading = readingOf(answer, { type: 'void', reference: null, transactionId });
      return checked(reading, () => reports.lookUpVoid(about));
    },
  };
}
