import type { Clock } from '../../server/platform/clock.ts';
import { dayMs } from '../../server/platform/durations.ts';
import type { Payment } from './books.ts';
import type { NoticeEvent } from './notices.ts';
import { type Fields, isFields } from './rules.ts';
import type { AdyenAmount } from '../../server/vault/processors/adyen/money.ts';

/** Disputes at the simulator, and its Disputes API. */

export interface DisputeLine {
  readonly type: 'dispute';
  readonly psp: string;
  readonly payment: string;
  readonly reference: string;
  readonly amount: AdyenAmount;
  readonly reasonCode: string;
  readonly dueAtMs: number;
  readonly isInquiry: boolean;
  readonly status: 'Undefended' | 'Pending' | 'Accepted' | 'Won' | 'Lost';
  /** What the documents contain; undefined before any was supplied. */
  readonly evidence?: string;
  /** The types of the documents that were supplied. */
  readonly documents?: readonly string[];
  /** For which the dispute was defended. */
  readonly defenseReason?: string;
  /** In some countries Adyen leaves out the status of a dispute. */
  readonly isWithoutStatus?: boolean;
}

export interface Disputes {
  restore(line: DisputeLine): void;
  /** Plays an action of `POST /control/disputes`; undefined if it is not possible. */
  play(action: unknown, payment: Payment | undefined, fields: Fields): DisputeLine | undefined;
  find(psp: string): DisputeLine | undefined;
  /** Answers a request of the Disputes API. */
  answer(method: string, body: Fields): Answered;
}

interface Answered {
  readonly status: number;
  readonly body: object;
}

interface DisputeOptions {
  readonly clock: Clock;
  newReference(): string;
  append(line: DisputeLine): void;
  notify(event: NoticeEvent): void;
}

interface Reason {
  readonly defenseReasonCode: string;
  readonly documents: Readonly<Record<string, 'Required' | 'OneOrMore' | 'AlternativeRequired' | 'Optional'>>;
}

/** For goods that are not as described, as in the example of Adyen's documents. Any material is not taken for every dispute. */
const aboutGoods: readonly Reason[] = [
  { defenseReasonCode: 'GoodsNotReturned', documents: { TIDorInvoice: 'Optional', GoodsNotReturned: 'Required' } },
  {
    defenseReasonCode: 'GoodsRepairedOrReplaced',
    documents: { TIDorInvoice: 'Optional', GoodsRepairedOrReplaced: 'Required' },
  },
  {
    defenseReasonCode: 'GoodsWereAsDescribed',
    documents: { GoodsWereAsDescribed: 'Required', TIDorInvoice: 'Required' },
  },
];
const aboutCredit: readonly Reason[] = [
  { defenseReasonCode: 'CreditOrCancellationPolicyProperlyDisclosed', documents: {} },
  {
    defenseReasonCode: 'CancellationTermsFailed',
    documents: { TAndC: 'OneOrMore', CardholderIdentification: 'OneOrMore', TIDorInvoice: 'Optional' },
  },
];
const anyMaterial: readonly Reason[] = [
  {
    defenseReasonCode: 'CancellationTermsFailed',
    documents: { TAndC: 'Required', CardholderIdentification: 'Required' },
  },
  { defenseReasonCode: 'SupplyDefenseMaterial', documents: { TIDorInvoice: 'Optional', DefenseMaterial: 'Required' } },
];

function reasonsFor({ reasonCode }: DisputeLine): readonly Reason[] {
  if (/^(13\.[345]|4853)/.test(reasonCode)) return aboutGoods;
  return /^13\.[67]/.test(reasonCode) ? aboutCredit : anyMaterial;
}

/** What a reason lacks; undefined if it can be used. */
function missingFor({ documents }: Reason, supplied: readonly string[]): string | undefined {
  const of = (level: string): string[] => Object.keys(documents).filter((type) => documents[type] === level);
  const absent = of('Required').find((type) => !supplied.includes(type));
  if (absent !== undefined) return absent;
  const choices = of('OneOrMore');
  return choices.length > 0 && !choices.some((type) => supplied.includes(type)) ? choices[0] : undefined;
}

const documentBytesMax = 2 * 1024 * 1024;
const documentTypes = ['application/pdf', 'image/jpeg', 'image/jpg', 'image/tiff'];

/** Returns the content of the documents; undefined if one is not acceptable. */
function contentOf(documents: unknown): string | undefined {
  if (!Array.isArray(documents) || documents.length === 0) return undefined;
  const contents = documents.map((document: unknown) => {
    if (!isFields(document) || typeof document.defenseDocumentTypeCode !== 'string') return undefined;
    const { content, contentType } = document;
    if (typeof content !== 'string' || !documentTypes.includes(String(contentType))) return undefined;
    const bytes = Buffer.from(content, 'base64');
    const isPdf = contentType !== 'application/pdf' || bytes.subarray(0, 5).toString() === '%PDF-';
    return isPdf && bytes.length <= documentBytesMax ? bytes.toString('latin1') : undefined;
  });
  return contents.includes(undefined) ? undefined : contents.join('\n');
}

const succeeded = { status: 200, body: { disputeServiceResult: { success: true } } };
const failed = (errorMessage: string) => ({
  status: 200,
  body: { disputeServiceResult: { success: false, errorMessage } },
});

/** How a dispute ends without an answer of the merchant. */
const ends: Readonly<Record<string, readonly [eventCode: string, status: DisputeLine['status']]>> = {
  win: ['CHARGEBACK_REVERSED', 'Won'],
  lose: ['DISPUTE_DEFENSE_PERIOD_ENDED', 'Lost'],
  second_chargeback: ['SECOND_CHARGEBACK', 'Lost'],
  reversed: ['CHARGEBACK_REVERSED', 'Pending'],
  prearbitration_open: ['PREARBITRATION_OPEN', 'Pending'],
  prearbitration_won: ['PREARBITRATION_WON', 'Won'],
  prearbitration_lost: ['PREARBITRATION_LOST', 'Lost'],
  prearbitration_accepted: ['PREARBITRATION_ACCEPTED', 'Lost'],
  prearbitration_declined: ['PREARBITRATION_DECLINED', 'Pending'],
  prearbitration_withdrawn: ['PREARBITRATION_ISSUER_WITHDRAWN', 'Won'],
};

/** The notice about a change of a dispute. */
function eventOf(eventCode: string, dispute: DisputeLine): NoticeEvent {
  const { psp, payment, reference, amount, reasonCode, dueAtMs, isInquiry, status, isWithoutStatus } = dispute;
  return {
    eventCode,
    pspReference: psp,
    // Only a setting of the account adds it there.
    originalReference: eventCode === 'CHARGEBACK_REVERSED' ? null : payment,
    merchantReference: reference,
    amount,
    isSuccess: true,
    reason: 'Other Fraud-Card Absent Environment',
    additionalData: {
      ...(!isWithoutStatus && { disputeStatus: status }),
      defendable: 'true',
      autoDefended: 'false',
      defensePeriodEndsAt: new Date(dueAtMs).toISOString(),
      ...(isInquiry ? { rfiReasonCode: reasonCode } : { chargebackReasonCode: ` ${reasonCode}` }),
    },
  };
}

const wireReasons = (dispute: DisputeLine): object[] =>
  reasonsFor(dispute).map(({ defenseReasonCode, documents }) => ({
    defenseReasonCode,
    satisfied: missingFor({ defenseReasonCode, documents }, dispute.documents ?? []) === undefined,
    defenseDocumentTypes: Object.entries(documents).map(([defenseDocumentTypeCode, requirementLevel]) => ({
      available: dispute.documents?.includes(defenseDocumentTypeCode) ?? false,
      defenseDocumentTypeCode,
      requirementLevel,
    })),
  }));

function newDispute(
  psp: string,
  nowMs: number,
  { psp: payment, reference, amount }: Payment,
  isInquiry: boolean,
  fields: Fields,
): DisputeLine {
  return {
    type: 'dispute',
    psp,
    payment,
    reference,
    amount: typeof fields.amount === 'number' ? { ...amount, value: fields.amount } : amount,
    reasonCode: typeof fields.reason_code === 'string' ? fields.reason_code : '10.4',
    dueAtMs: nowMs + 14 * dayMs,
    isInquiry,
    status: 'Undefended',
    isWithoutStatus: fields.without_status === true,
  };
}

export function openDisputes({ clock, newReference, append, notify }: DisputeOptions): Disputes {
  const disputes = new Map<string, DisputeLine>();

  function change(dispute: DisputeLine, eventCode: string, status: DisputeLine['status']): DisputeLine {
    const changed = { ...dispute, status };
    disputes.set(dispute.psp, changed);
    append(changed);
    notify(eventOf(eventCode, changed));
    return changed;
  }

  function open(payment: Payment, isInquiry: boolean, fields: Fields): DisputeLine {
    const dispute = newDispute(newReference(), clock.nowMs(), payment, isInquiry, fields);
    if (isInquiry) return change(dispute, 'REQUEST_FOR_INFORMATION', 'Undefended');
    change(dispute, 'NOTIFICATION_OF_CHARGEBACK', 'Undefended');
    return change(dispute, 'CHARGEBACK', 'Undefended');
  }

  const latestOf = (payment: Payment): DisputeLine | undefined =>
    [...disputes.values()].findLast((dispute) => dispute.payment === payment.psp);

  function supply(dispute: DisputeLine, body: Fields): Answered {
    const evidence = contentOf(body.defenseDocuments);
    if (evidence === undefined) return failed('Invalid defense document');
    const types = (body.defenseDocuments as readonly Fields[]).map((one) => String(one.defenseDocumentTypeCode));
    const known = reasonsFor(dispute).flatMap(({ documents }) => Object.keys(documents));
    if (!types.every((type) => known.includes(type))) return failed('Invalid defense document type');
    const supplied = { ...dispute, evidence, documents: [...(dispute.documents ?? []), ...types] };
    disputes.set(dispute.psp, supplied);
    append(supplied);
    return succeeded;
  }

  function defend(dispute: DisputeLine, { defenseReasonCode: code }: Fields): Answered {
    const reason = reasonsFor(dispute).find(({ defenseReasonCode }) => defenseReasonCode === code);
    if (!reason) return failed('Invalid reason');
    const { evidence = '', documents = [] } = dispute;
    const missing = missingFor(reason, documents);
    if (missing !== undefined) return failed(`Required defense documents are missing: ${missing}`);
    const defended = { ...dispute, defenseReason: reason.defenseReasonCode };
    const reversed = change(change(defended, 'INFORMATION_SUPPLIED', 'Pending'), 'CHARGEBACK_REVERSED', 'Pending');
    if (evidence.includes('winning_evidence')) change(reversed, 'ISSUER_RESPONSE_TIMEFRAME_EXPIRED', 'Won');
    if (evidence.includes('losing_evidence')) change(reversed, 'SECOND_CHARGEBACK', 'Lost');
    return succeeded;
  }

  return {
    restore: (line) => disputes.set(line.psp, line),
    find: (psp) => disputes.get(psp),
    play(action, payment, fields) {
      if (!payment) return undefined;
      if (action === 'open' || action === 'inquiry') return open(payment, action === 'inquiry', fields);
      const dispute = latestOf(payment);
      const end = ends[String(action)];
      return dispute && end && change(dispute, ...end);
    },
    answer(method, body) {
      const dispute = disputes.get(String(body.disputePspReference));
      if (!dispute) return failed('Dispute not found');
      if (dispute.status !== 'Undefended') return failed('Dispute is not defendable');
      if (method === 'retrieveApplicableDefenseReasons') {
        return { status: 200, body: { ...succeeded.body, defenseReasons: wireReasons(dispute) } };
      }
      if (method === 'supplyDefenseDocument') return supply(dispute, body);
      if (method === 'defendDispute') return defend(dispute, body);
      change(dispute, 'DISPUTE_DEFENSE_PERIOD_ENDED', 'Accepted');
      return succeeded;
    },
  };
}
