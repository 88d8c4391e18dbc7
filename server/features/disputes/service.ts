import { ApiError, invalidField, notFound, quoted } from '../../errors.ts';
import type { Page } from '../../http/lists.ts';
import type { PageRequest } from '../../http/route.ts';
import type { Queryable } from '../../platform/database.ts';
import { newId } from '../../platform/ids.ts';
import type { OfCompany, RequestContext } from '../../request-context.ts';
import {
  type Defense,
  type DisputeOutcome,
  type DisputeState,
  type EvidenceLimits,
  textsAsDocument,
} from '../../vault/processors/notices.ts';
import { kindNamed } from '../../vault/processors/kinds.ts';
import type { Vault } from '../../vault/vault.ts';
import { customersById } from '../customers/service.ts';
import type { Orders } from '../orders/service.ts';
import {
  deleteFile,
  type DisputeFilters,
  type DisputeRow,
  findDispute,
  findFiles,
  insertFile,
  eraseEvidenceOfDeleted,
  listDisputes,
  lockDispute,
  markAnswered,
  saveEvidence,
} from './queries.ts';
import type {
  DefenseReasonsList,
  Dispute,
  DisputeDetail,
  DisputeResolution,
  DisputeUpdate,
  FileCreate,
} from './schemas.ts';

/** Disputes: the merchant reads them, collects evidence, submits it through the processor, or accepts. */

export interface DisputeDependencies {
  readonly vault: Pick<Vault, 'defenseReasons' | 'submitEvidence' | 'acceptDispute'>;
  readonly orders: OfCompany<Pick<Orders, 'resolveChargeback' | 'closeDispute' | 'unmatched'>>;
}

/** In the sandbox these texts decide the dispute. */
const sandboxVerdicts: readonly [text: string, state: 'won' | 'lost'][] = [
  ['winning_evidence', 'won'],
  ['losing_evidence', 'lost'],
];
const sandboxLimits: EvidenceLimits = {
  textLengthMax: 150_000,
  fileBytesMax: 5 * 1024 * 1024,
  filesMax: 8,
  contentTypes: ['application/pdf', 'image/jpeg', 'image/png'],
};

function toWire(row: DisputeRow): Dispute {
  return {
    id: row.id,
    status: row.state,
    order_id: row.order_id,
    order_number: row.order_number,
    customer_id: row.customer_id,
    transaction_id: row.transaction_id,
    amount: row.amount,
    currency: row.currency,
    reason: row.reason,
    network_reason_code: row.network_reason_code,
    evidence_due_at: row.evidence_due_at?.toISOString() ?? null,
    evidence: row.evidence,
    files: [...(row.files ?? [])],
    submitted_at: row.submitted_at?.toISOString() ?? null,
    processor: row.connection_name,
    created_at: row.created_at.toISOString(),
    updated_at: row.updated_at.toISOString(),
  };
}

export async function getDisputes(
  context: RequestContext,
  filters: DisputeFilters,
  page: PageRequest,
  expand: ReadonlySet<string>,
): Promise<Page<Dispute>> {
  const found = await listDisputes(context, filters, page);
  const ids = found.items.map(({ customer_id }) => customer_id);
  const customers = expand.has('customer') ? await customersById(context, ids) : undefined;
  return {
    ...found,
    items: found.items.map((row) => {
      const customer = customers?.get(row.customer_id);
      return { ...toWire(row), ...(customer && { customer }) };
    }),
  };
}

async function existing({ db, company }: RequestContext, id: string): Promise<DisputeRow> {
  const row = await findDispute(db, company.id, id);
  if (!row) throw notFound('dispute');
  return row;
}

export async function getDispute(context: RequestContext, id: string): Promise<DisputeDetail> {
  const row = await existing(context, id);
  const limits = limitsOf(context, row);
  const reason = whyNot(row, limits);
  return {
    ...toWire(row),
    defense: defenseOf(row),
    answer: {
      is_possible: reason === null,
      is_final: true,
      is_decided_by_hand: isDecidedByHand(context, row),
      chooses_reason: limits?.offersReasons === true,
      reason,
      text_length_max: limits?.textLengthMax ?? 0,
      file_bytes_max: limits?.fileBytesMax ?? 0,
      files_max: limits?.filesMax ?? 0,
      content_types: [...(limits?.contentTypes ?? [])],
    },
  };
}

/** Without the documents whose file was removed. */
function defenseOf({ defense, files }: DisputeRow): DisputeDetail['defense'] {
  if (!defense) return null;
  const sources = [textsAsDocument, ...(files ?? []).map(({ id }) => id)];
  return { ...defense, documents: defense.documents.filter(({ source }) => sources.includes(source)) };
}

/** Undefined if the processor takes no answers through us. */
function limitsOf({ company }: RequestContext, { kind }: DisputeRow): EvidenceLimits | undefined {
  if (company.mode === 'sandbox') return sandboxLimits;
  return kind === null ? undefined : kindNamed(kind).evidence;
}

/** Whether no processor reports how the dispute ends. In the sandbox, evidence comes first. */
function isDecidedByHand({ company }: RequestContext, row: DisputeRow): boolean {
  const isOpen = row.state === 'under_review' || (company.mode !== 'sandbox' && row.state === 'needs_response');
  return isOpen && (row.connection_id === null || isUnreported(row));
}

/** Whether the processor reported that the dispute began, but will not report how it ended. */
const isUnreported = ({ kind }: DisputeRow): boolean => kind !== null && kindNamed(kind).reportsNoDecisions === true;

const answerable: readonly DisputeState[] = ['inquiry', 'needs_response'];

function whyNot({ state, submitted_at, kind }: DisputeRow, limits: EvidenceLimits | undefined): string | null {
  if (submitted_at) return 'The evidence was submitted. Processors take it once.';
  if (!answerable.includes(state)) {
    return `The status of this dispute is ${state.replaceAll('_', ' ')}. It no longer takes evidence.`;
  }
  if (limits) return null;
  return kind !== null && kindNamed(kind).reportsNoDecisions
    ? 'This processor takes no answers to disputes. Send your evidence to your acquirer, by the deadline it gives you.'
    : 'This processor takes no answers to disputes here. Answer at the processor.';
}

async function requireAnswerable(
  context: RequestContext,
  id: string,
): Promise<{ readonly row: DisputeRow; readonly limits: EvidenceLimits }> {
  const row = await existing(context, id);
  const limits = limitsOf(context, row);
  const reason = whyNot(row, limits);
  if (reason !== null || !limits) throw new ApiError('invalid_state_transition', reason ?? '', { param: 'id' });
  return { row, limits };
}

/** Locks the dispute until the transaction ends. */
export async function lockedDispute(context: RequestContext, id: string): Promise<DisputeDetail> {
  await lockDispute(context.db, context.company.id, id);
  return getDispute(context, id);
}

/** Saves a draft. A blank text is no evidence. What is left out stays as it is. */
export async function changeEvidence(
  context: RequestContext,
  id: string,
  { evidence, defense }: DisputeUpdate,
): Promise<DisputeDetail> {
  const { row, limits } = await requireAnswerable(context, id);
  const texts = Object.fromEntries(Object.entries(evidence ?? row.evidence).filter(([, text]) => text?.trim()));
  const length = Object.values(texts).join('').length;
  if (length > limits.textLengthMax) {
    throw invalidField('evidence', `must have at most ${limits.textLengthMax} characters in all. It has ${length}`);
  }
  if (defense) checkDefense(defense, row, limits);
  const draft = { evidence: texts, defense: defense === undefined ? row.defense : defense };
  await saveEvidence(context.db, context.company.id, id, draft, new Date(context.nowMs));
  return getDispute(context, id);
}

function checkDefense(defense: Defense, { files }: DisputeRow, limits: EvidenceLimits): void {
  if (!limits.offersReasons) throw invalidField('defense', 'must be left out: this processor asks for no reason');
  const ids = (files ?? []).map(({ id }) => id);
  const odd = defense.documents.find(({ source }) => source !== textsAsDocument && !ids.includes(source));
  if (odd) throw invalidField('defense.documents', `must name a file of this dispute or ${textsAsDocument} as source`);
}

/** Asks the processor, outside of a transaction. Without a choice there are none. */
export async function findDefenseReasons(
  context: RequestContext,
  { vault }: DisputeDependencies,
  id: string,
): Promise<DefenseReasonsList> {
  const row = await existing(context, id);
  const limits = limitsOf(context, row);
  if (!limits?.offersReasons || row.connection_id === null || whyNot(row, limits) !== null) return { data: [] };
  const about = { companyId: context.company.id, connectionId: row.connection_id, disputeId: row.processor_id };
  const found = await vault.defenseReasons(about);
  if (found.outcome === 'refused') throw new ApiError('invalid_request', quoted(found.reason));
  if (found.outcome !== 'offered') throw new ApiError('gateway_error', 'The processor did not answer. Try again.');
  const data = found.reasons.map(({ code, name, documents }) => ({
    reason: code,
    name,
    documents: documents.map(({ isSupplied, ...document }) => ({ ...document, is_supplied: isSupplied })),
  }));
  return { data };
}

const signatures: Readonly<Record<FileCreate['content_type'], readonly number[]>> = {
  'application/pdf': [0x25, 0x50, 0x44, 0x46],
  'image/jpeg': [0xff, 0xd8, 0xff],
  'image/png': [0x89, 0x50, 0x4e, 0x47],
};

export async function addFile(
  context: RequestContext,
  id: string,
  { kind, name, content_type: contentType, content: base64 }: FileCreate,
): Promise<DisputeDetail> {
  const { limits } = await requireAnswerable(context, id);
  if (!limits.contentTypes.includes(contentType)) {
    throw invalidField('content_type', `must be one of ${limits.contentTypes.join(', ')} for this processor`);
  }
  const content = Buffer.from(base64, 'base64');
  if (content.length > limits.fileBytesMax) {
    throw invalidField('content', `must be at most ${limits.fileBytesMax} bytes. It has ${content.length}`);
  }
  if (!signatures[contentType].every((byte, index) => content[index] === byte)) {
    throw invalidField('content', `is not a file of the type ${contentType}`);
  }
  await context.db.transaction(async (db) => {
    // Files that arrive together are counted one after the other.
    await lockDispute(db, context.company.id, id);
    const { row } = await requireAnswerable({ ...context, db }, id);
    if ((row.files ?? []).length >= limits.filesMax) {
      throw new ApiError('invalid_request', `A dispute takes at most ${limits.filesMax} files. Remove one first.`);
    }
    const file = { kind, name, contentType, content };
    await insertFile(db, context.company.id, id, newId(context.nowMs), file);
  });
  return getDispute(context, id);
}

export async function removeFile(context: RequestContext, id: string, fileId: string): Promise<DisputeDetail> {
  await requireAnswerable(context, id);
  if (!(await deleteFile(context.db, context.company.id, id, fileId))) throw notFound('file');
  return getDispute(context, id);
}

/**
 * Evidence contains data of the customer. If the customer is deleted, it goes when the dispute is decided; until then the
 * merchant needs it. What was submitted is at the processor.
 */
export const eraseEvidence = (db: Queryable, count: number): Promise<number> => eraseEvidenceOfDeleted(db, count);

/** Runs before the transaction. Returns the state that the processor reports; undefined in the sandbox. */
export async function sendEvidence(
  context: RequestContext,
  dependencies: DisputeDependencies,
  id: string,
): Promise<DisputeState | undefined> {
  const { row } = await requireAnswerable(context, id);
  const files = await findFiles(context.db, context.company.id, id);
  const defense = defenseOf(row);
  // There are reasons that need no document.
  if (Object.keys(row.evidence).length === 0 && files.length === 0 && !defense) {
    throw new ApiError('invalid_request', 'There is no evidence yet. Enter a text or add a file first.');
  }
  if (row.connection_id === null) return undefined;
  await context.auditFirst?.(context.db);
  const about = { companyId: context.company.id, connectionId: row.connection_id, disputeId: row.processor_id };
  // An inquiry that becomes a chargeback is answered again, perhaps with the same texts.
  const reference = `${row.id}-${row.state === 'inquiry' ? 'inquiry' : 'evidence'}`;
  const request = { ...about, reference, texts: row.evidence, files, ...(defense && { defense }) };
  return stateOf(await dependencies.vault.submitEvidence(request));
}

export async function sendAcceptance(
  context: RequestContext,
  { vault }: DisputeDependencies,
  id: string,
): Promise<DisputeState | undefined> {
  const row = await existing(context, id);
  if (!answerable.includes(row.state)) {
    const message = `The status of this dispute is ${row.state}. Only a dispute that needs a response can be accepted.`;
    throw new ApiError('invalid_state_transition', message, { param: 'id' });
  }
  if (row.connection_id === null || isUnreported(row)) return undefined;
  await context.auditFirst?.(context.db);
  const about = { companyId: context.company.id, connectionId: row.connection_id, disputeId: row.processor_id };
  return stateOf(await vault.acceptDispute({ ...about, reference: `${row.id}-accept` }));
}

function stateOf(outcome: DisputeOutcome): DisputeState {
  if (outcome.outcome === 'done') return outcome.state;
  if (outcome.outcome === 'refused') throw new ApiError('invalid_request', quoted(outcome.reason));
  const message = 'The processor did not confirm it. Try again: nothing is submitted twice.';
  throw new ApiError('gateway_error', message);
}

/** Records that evidence was submitted. The processor's decision arrives as a notice; in the sandbox a text decides. */
export async function recordSubmission(
  context: RequestContext,
  dependencies: DisputeDependencies,
  id: string,
  reported: DisputeState | undefined,
): Promise<DisputeDetail> {
  const row = await existing(context, id);
  const at = new Date(context.nowMs);
  const answer = { state: reported ?? 'under_review', isSubmission: true, at };
  await markAnswered(context.db, context.company.id, id, answer);
  if (row.connection_id === null) await decide(context, dependencies, row);
  return getDispute(context, id);
}

async function decide(context: RequestContext, { orders }: DisputeDependencies, row: DisputeRow): Promise<void> {
  const text = Object.values(row.evidence).join('\n');
  const verdict = sandboxVerdicts.find(([word]) => text.includes(word))?.[1];
  if (!verdict) return;
  await orders(context).resolveChargeback(context, row.order_id, verdict === 'won' ? 'dismissed' : 'lost');
}

export async function recordAcceptance(
  context: RequestContext,
  dependencies: DisputeDependencies,
  id: string,
  reported: DisputeState | undefined,
): Promise<DisputeDetail> {
  const row = await existing(context, id);
  const answer = { state: reported ?? 'accepted', isSubmission: false, at: new Date(context.nowMs) };
  const orders = dependencies.orders(context);
  if (row.connection_id === null) await orders.resolveChargeback(context, row.order_id, 'accepted');
  else if (isUnreported(row)) await orders.closeDispute(context, { id, orderId: row.order_id }, 'accepted');
  else await markAnswered(context.db, context.company.id, id, answer);
  return getDispute(context, id);
}

/** Records the decision that the acquirer gave the merchant. */
export async function resolveDispute(
  context: RequestContext,
  { orders }: DisputeDependencies,
  id: string,
  outcome: DisputeResolution['outcome'],
): Promise<DisputeDetail> {
  const row = await existing(context, id);
  if (!isDecidedByHand(context, row)) {
    const message =
      row.state === 'needs_response' || row.state === 'under_review'
        ? 'The processor reports how this dispute ends. Answer it instead.'
        : `The status of this dispute is ${row.state.replaceAll('_', ' ')}. Only an open dispute can be closed.`;
    throw new ApiError('invalid_state_transition', message, { param: 'id' });
  }
  await orders(context).closeDispute(context, { id, orderId: row.order_id }, outcome);
  return getDispute(context, id);
}
