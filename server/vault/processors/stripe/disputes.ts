import { hash } from 'node:crypto';
import { type Answer, jsonOf, type Silence, silentOutcome } from '../exchange.ts';
import type {
  DisputeOperations,
  EvidenceLimits,
  DisputeOutcome,
  DisputeReason,
  DisputeState,
  EvidenceRequest,
} from '../notices.ts';
import type { Client } from './client.ts';
import { created, isKeyReuse, refusedKey, rejectionIn, unclear, wrongKeyText } from './answers.ts';
import { cleanText } from './declines.ts';
import { type Dispute, readDispute, readError } from './objects.ts';
import { closeDispute, getDispute, submitEvidence, type UploadedFile, uploadFile } from './requests.ts';

/**
 * In the order in which a dispute passes through them. A prevented dispute was settled with the cardholder before it
 * took any money.
 */
const states: ReadonlyMap<string, DisputeState> = new Map<string, DisputeState>([
  ['warning_needs_response', 'inquiry'],
  ['warning_under_review', 'inquiry'],
  ['warning_closed', 'inquiry_closed'],
  ['prevented', 'inquiry_closed'],
  ['needs_response', 'needs_response'],
  ['under_review', 'under_review'],
  ['won', 'won'],
  ['lost', 'lost'],
  ['appeal_needs_response', 'needs_response'],
  ['appeal_under_review', 'under_review'],
]);

/** Stripe's times are whole seconds. Within one, the later status of a dispute counts. */
export const progressMs = ({ status }: Dispute): number => [...states.keys()].indexOf(status);

const reasons: ReadonlyMap<string, DisputeReason> = new Map<string, DisputeReason>([
  ['fraudulent', 'fraudulent'],
  ['debit_not_authorized', 'fraudulent'],
  ['product_not_received', 'product_not_received'],
  ['product_unacceptable', 'product_unacceptable'],
  ['subscription_canceled', 'subscription_canceled'],
  ['duplicate', 'duplicate'],
  ['credit_not_processed', 'credit_not_processed'],
  ['unrecognized', 'unrecognized'],
]);

export const disputeState = ({ status }: Dispute): DisputeState | undefined => states.get(status);
export const disputeReason = ({ reason }: Dispute): DisputeReason => reasons.get(reason) ?? 'general';

/** All files together; the card networks accept no more. */
const fileBytesMax = 4_500_000;

export const evidenceLimits: EvidenceLimits = {
  textLengthMax: 150_000,
  fileBytesMax,
  filesMax: 8,
  contentTypes: ['application/pdf', 'image/jpeg', 'image/png'],
};

function outcomeOf(answer: Answer | Silence, disputeId: string): DisputeOutcome | undefined {
  if ('reason' in answer) return silentOutcome(answer);
  const body = jsonOf(answer);
  const dispute = answer.status === 200 ? readDispute(body) : undefined;
  const state = dispute?.id === disputeId ? disputeState(dispute) : undefined;
  if (state) return { outcome: 'done', state };
  if (refusedKey(answer)) return { outcome: 'refused', reason: wrongKeyText };
  const error = readError(body);
  if (error && isKeyReuse(error)) return undefined;
  return error && rejectionIn(answer)
    ? { outcome: 'refused', reason: cleanText(error.message) ?? 'Stripe rejects the request.' }
    : { outcome: 'unknown', reason: unclear(answer) };
}

const contentKey = (content: string | Buffer): string => hash('sha256', content).slice(0, 32);

const answerable: readonly DisputeState[] = ['inquiry', 'needs_response'];
const undecided: DisputeOutcome = { outcome: 'unknown', reason: 'another request submits evidence' };

/** Returns why the evidence cannot be sent. */
function problemOf({ files }: EvidenceRequest): string | undefined {
  const kinds = files.map(({ kind }) => kind);
  const twice = kinds.find((kind, index) => kinds.indexOf(kind) !== index);
  if (twice) return `Stripe accepts one file of each kind: there are several of "${twice}".`;
  const bytes = files.reduce((sum, { content }) => sum + content.length, 0);
  return bytes > fileBytesMax ? 'All files together must not be larger than 4.5 MB.' : undefined;
}

export function disputeOperations({ send, sendFile }: Client): DisputeOperations {
  async function uploadAll({ reference, files }: EvidenceRequest): Promise<readonly UploadedFile[] | DisputeOutcome> {
    const uploaded: UploadedFile[] = [];
    for (const file of files) {
      // A file may be replaced after a submission that failed. Under the same key, Stripe would reject the new one.
      const key = `${reference}:${file.kind}:${contentKey(file.content)}`;
      const answer = created(await sendFile(uploadFile(file, key)), 'file');
      if ('outcome' in answer) {
        if (answer.outcome === 'not_sent') return { outcome: 'not_sent', reason: answer.reason };
        const text = answer.outcome === 'declined' ? answer.response.response_text : null;
        return { outcome: 'refused', reason: text ?? `Stripe rejects the file "${file.name}".` };
      }
      uploaded.push({ kind: file.kind, id: answer.id });
    }
    return uploaded;
  }

  /** Other evidence was sent with this reference before: what stands is what the dispute says. */
  async function current(disputeId: string): Promise<DisputeOutcome> {
    const found = outcomeOf(await send(getDispute(disputeId)), disputeId);
    return found ?? { outcome: 'unknown', reason: 'the dispute could not be read' };
  }

  return {
    async submit(request) {
      const problem = problemOf(request);
      if (problem) return { outcome: 'refused', reason: problem };
      const files = await uploadAll(request);
      if ('outcome' in files) return files;
      const { disputeId, reference, texts } = request;
      const sent = outcomeOf(await send(submitEvidence(request, files, reference)), disputeId);
      if (sent) return sent;
      const found = await current(disputeId);
      if (found.outcome !== 'done' || !answerable.includes(found.state)) return found;
      // The evidence under the key failed, and was changed since. It is submitted under a key of its own.
      const key = `${reference}:${contentKey(JSON.stringify([texts, files]))}`;
      return outcomeOf(await send(submitEvidence(request, files, key)), disputeId) ?? undecided;
    },
    async accept({ disputeId, reference }) {
      const outcome =
        outcomeOf(await send(closeDispute(disputeId, reference)), disputeId) ?? (await current(disputeId));
      // At Stripe an accepted dispute is a lost one.
      return outcome.outcome === 'done' && outcome.state === 'lost' ? { outcome: 'done', state: 'accepted' } : outcome;
    },
  };
}
