import { ownEntry } from '../../../platform/own-entry.ts';
import { reasonOfCode } from '../network-reasons.ts';
import type { DisputeState, NoticedDispute } from '../notices.ts';
import { fromAdyen } from './money.ts';
import type { NoticeItem } from './notice-item.ts';

/** Reads the notices about disputes. */

/** Adyen pads some values with blanks. */
const dataOf = ({ additionalData }: NoticeItem, name: string): string | undefined => {
  const value = additionalData?.[name];
  return (typeof value === 'string' && value.trim()) || undefined;
};

/** The state of a dispute by its `disputeStatus`, which Adyen leaves out in some countries. */
const states: Readonly<Record<string, DisputeState>> = {
  Unresponded: 'inquiry',
  Undefended: 'needs_response',
  Pending: 'under_review',
  Responded: 'under_review',
  Accepted: 'accepted',
  Expired: 'lost',
  Lost: 'lost',
  Won: 'won',
};

/** Not every request for information has a reason code. */
const isInquiry = (item: NoticeItem): boolean =>
  dataOf(item, 'rfiReasonCode') !== undefined ||
  ['Unresponded', 'Responded'].includes(dataOf(item, 'disputeStatus') ?? '');

type StateReader = (item: NoticeItem, status: DisputeState | undefined) => DisputeState;

const opened: StateReader = (item, status) =>
  status ?? (dataOf(item, 'autoDefended') === 'true' ? 'under_review' : 'needs_response');

const stateReaders: Readonly<Record<string, StateReader>> = {
  REQUEST_FOR_INFORMATION: (item) => (dataOf(item, 'disputeStatus') === 'Expired' ? 'inquiry_closed' : 'inquiry'),
  NOTIFICATION_OF_CHARGEBACK: opened,
  CHARGEBACK: opened,
  INFORMATION_SUPPLIED: (item) => (isInquiry(item) ? 'inquiry' : 'under_review'),
  // The merchant has the money back, but the bank may insist. Only the status says that it can no longer.
  CHARGEBACK_REVERSED: (_item, status) => (status === 'won' ? status : 'under_review'),
  SECOND_CHARGEBACK: () => 'lost',
  PREARBITRATION_OPEN: () => 'under_review',
  PREARBITRATION_WON: () => 'won',
  PREARBITRATION_LOST: () => 'lost',
  PREARBITRATION_ISSUER_WITHDRAWN: () => 'won',
  // The merchant gives in.
  PREARBITRATION_ACCEPTED: () => 'lost',
  // The merchant does not, and the bank may ask the card network to decide.
  PREARBITRATION_DECLINED: (_item, status) => status ?? 'under_review',
  SCHEME_ARBITRATION: () => 'under_review',
  SCHEME_ARBITRATION_WON: () => 'won',
  SCHEME_ARBITRATION_LOST: () => 'lost',
  ISSUER_RESPONSE_TIMEFRAME_EXPIRED: (item) => (isInquiry(item) ? 'inquiry_closed' : 'won'),
  DISPUTE_DEFENSE_PERIOD_ENDED: (item, status) => {
    if (isInquiry(item)) return 'inquiry_closed';
    return status === 'accepted' ? 'accepted' : 'lost';
  },
};

/** Adyen's times are whole seconds. Within one, the later event of a dispute counts, and then the one that decides it. */
export function progressMs({ eventCode }: NoticeItem, { state }: NoticedDispute): number {
  const isDecided = state === 'won' || state === 'lost' || state === 'accepted';
  return 2 * Object.keys(stateReaders).indexOf(eventCode) + (isDecided ? 1 : 0);
}

const answerable: readonly DisputeState[] = ['inquiry', 'needs_response'];

/** Null if evidence is not possible, or if its end is not known. */
function evidenceDueAtMs(item: NoticeItem, state: DisputeState): number | null {
  const dueAtMs = Date.parse(dataOf(item, 'defensePeriodEndsAt') ?? '');
  const isAnswerable = answerable.includes(state) && dataOf(item, 'defendable') !== 'false';
  return isAnswerable && !Number.isNaN(dueAtMs) ? dueAtMs : null;
}

/** All notices about a dispute have its reference, and some repeat the event: what the dispute is by then tells them apart. */
export const disputeStatusOf = (item: NoticeItem): string | undefined =>
  ownEntry(stateReaders, item.eventCode) && /^\w{1,40}$/.exec(dataOf(item, 'disputeStatus') ?? '')?.[0];

/** Returns undefined if the notice is not about a dispute. */
export function disputeOf(item: NoticeItem): NoticedDispute | undefined {
  const read = ownEntry(stateReaders, item.eventCode);
  if (!read || String(item.success) !== 'true') return undefined;
  const state = read(item, ownEntry(states, dataOf(item, 'disputeStatus') ?? ''));
  const code = dataOf(item, 'chargebackReasonCode') ?? dataOf(item, 'rfiReasonCode');
  return {
    disputeId: item.pspReference,
    charge: { reference: item.merchantReference || null, transactionId: item.originalReference || null },
    state,
    reason: reasonOfCode(code),
    networkReasonCode: code !== undefined && /^[\w.-]{1,20}$/.test(code) ? code : null,
    evidenceDueAtMs: evidenceDueAtMs(item, state),
    ...fromAdyen(item.amount),
  };
}
