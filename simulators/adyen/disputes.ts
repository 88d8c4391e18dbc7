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
}

export interface Disputes {
  restore(line: DisputeLine): void;
  /** Plays an action of `POST /control/disputes`; undefined if it is not possible. */
  play(action: unknown, payment: Payment | undefined, fields: Fields): DisputeLine | undefined;
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

const defenseReasons = [
  {
    defenseReasonCode: 'CancellationTermsFailed',
    satisfied: false,
    defenseDocumentTypes: [
      { available: false, defenseDocumentTypeCode: 'TAndC', requirementLevel: 'Required' },
      { available: false, defenseDocumentTypeCode: 'CardholderIdentification', requirementLevel: 'Required' },
    ],
  },
  {
    defenseReasonCode: 'SupplyDefenseMaterial',
    satisfied: false,
    defenseDocumentTypes: [
      { available: false, defenseDocumentTypeCode: 'DefenseMaterial', requirementLevel: 'Required' },
      { available: false, defenseDocumentTypeCode: 'ProofOfShipping', requirementLevel: 'Optional' },
    ],
  },
];

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
  prearbitration_won: ['PREARBITRATION_WON', 'Won'],
  prearbitration_lost: ['PREARBITRATION_LOST', 'Lost'],
};

/** The notice about a change of a dispute. */
function eventOf(eventCode: string, dispute: DisputeLine): NoticeEvent {
  const { psp, payment, reference, amount, reasonCode, dueAtMs, isInquiry, status } = dispute;
  return {
    eventCode,
    pspReference: psp,
    originalReference: payment,
    merchantReference: reference,
    amount,
    isSuccess: true,
    reason: 'Other Fraud-Card Absent Environment',
    additionalData: {
      disputeStatus: status,
      defendable: 'true',
      autoDefended: 'false',
      defensePeriodEndsAt: new Date(dueAtMs).toISOString(),
      ...(isInquiry ? { rfiReasonCode: reasonCode } : { chargebackReasonCode: reasonCode }),
    },
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

  function open({ psp: payment, reference, amount }: Payment, isInquiry: boolean, fields: Fields): DisputeLine {
    const dispute: DisputeLine = {
      type: 'dispute',
      psp: newReference(),
      payment,
      reference,
      amount: typeof fields.amount === 'number' ? { ...amount, value: fields.amount } : amount,
      reasonCode: typeof fields.reason_code === 'string' ? fields.reason_code : '10.4',
      dueAtMs: clock.nowMs() + 14 * dayMs,
      isInquiry,
      status: 'Undefended',
    };
    if (isInquiry) return change(dispute, 'REQUEST_FOR_INFORMATION', 'Undefended');
    change(dispute, 'NOTIFICATION_OF_CHARGEBACK', 'Undefended');
    return change(dispute, 'CHARGEBACK', 'Undefended');
  }

  const latestOf = (payment: Payment): DisputeLine | undefined =>
    [...disputes.values()].findLast((dispute) => dispute.payment === payment.psp);

  function supply(dispute: DisputeLine, body: Fields): Answered {
    const evidence = contentOf(body.defenseDocuments);
    if (evidence === undefined) return failed('Invalid defense document');
    const supplied = { ...dispute, evidence };
    disputes.set(dispute.psp, supplied);
    append(supplied);
    return succeeded;
  }

  function defend(dispute: DisputeLine, { defenseReasonCode: code }: Fields): Answered {
    const { evidence } = dispute;
    if (!defenseReasons.some(({ defenseReasonCode }) => defenseReasonCode === code)) return failed('Invalid reason');
    if (evidence === undefined) return failed('Required defense documents are missing');
    const reversed = change(change(dispute, 'INFORMATION_SUPPLIED', 'Pending'), 'CHARGEBACK_REVERSED', 'Pending');
    if (evidence.includes('winning_evidence')) change(reversed, 'ISSUER_RESPONSE_TIMEFRAME_EXPIRED', 'Won');
    if (evidence.includes('losing_evidence')) change(reversed, 'SECOND_CHARGEBACK', 'Lost');
    return succeeded;
  }

  return {
    restore: (line) => disputes.set(line.psp, line),
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
        return { status: 200, body: { ...succeeded.body, defenseReasons } };
      }
      if (method === 'supplyDefenseDocument') return supply(dispute, body);
      if (method === 'defendDispute') return defend(dispute, body);
      change(dispute, 'DISPUTE_DEFENSE_PERIOD_ENDED', 'Accepted');
      return succeeded;
    },
  };
}
