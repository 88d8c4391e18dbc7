import type { FailureCode } from '../processor.ts';
import type { ChallengeKind } from './challenge-queries.ts';

/** The behaviour of a sandbox card, by its number. Any other number is charged successfully. */
export type Behaviour =
  | { readonly kind: 'decline'; readonly failureCode: FailureCode; readonly responseText?: string }
  | { readonly kind: 'chargeback' }
  /** These depend on earlier operations of the card, so the sandbox records them. */
  | { readonly kind: 'refund_rejected_once' }
  | { readonly kind: 'declines_after_first'; readonly failureCode: FailureCode }
  | { readonly kind: 'declines_first'; readonly failureCode: FailureCode }
  /** Whether the card has expired depends on the time by the company's clock, so the sandbox records the outcome. */
  | { readonly kind: 'declines_when_expired' }
  /** The bank wants to authenticate the customer, if the company has switched that on. */
  | { readonly kind: 'bank'; readonly asks: ChallengeKind | 'unavailable' }
  | { readonly kind: 'answer_lost' }
  | { readonly kind: 'never_arrives' };

const byLastFour: Readonly<Record<string, Behaviour>> = {
  '0002': { kind: 'decline', failureCode: 'processor_declined' },
  '5100': { kind: 'decline', failureCode: 'processor_declined' },
  '9995': { kind: 'decline', failureCode: 'insufficient_funds' },
  '0069': { kind: 'decline', failureCode: 'expired_card' },
  '0119': { kind: 'decline', failureCode: 'processor_declined', responseText: 'Processing error' },
  '0127': { kind: 'decline', failureCode: 'incorrect_cvv' },
  '0259': { kind: 'chargeback' },
};

const byNumber: Readonly<Record<string, Behaviour>> = {
  '4000009999005126': { kind: 'refund_rejected_once' },
  '4000009999000341': { kind: 'declines_after_first', failureCode: 'insufficient_funds' },
  '4000009999003220': { kind: 'declines_first', failureCode: 'do_not_honor' },
  '4000009999005454': { kind: 'declines_when_expired' },
  '4000009999003307': { kind: 'bank', asks: 'frictionless' },
  '4000009999003315': { kind: 'bank', asks: 'challenge' },
  '4000009999003323': { kind: 'bank', asks: 'refused' },
  '4000009999003331': { kind: 'bank', asks: 'abandoned' },
  '4000009999003349': { kind: 'bank', asks: 'late' },
  '4000009999003356': { kind: 'bank', asks: 'unavailable' },
  '4000009999007070': { kind: 'answer_lost' },
  '4000009999007071': { kind: 'never_arrives' },
};

export function behaviourOf(digits: string): Behaviour | undefined {
  return byNumber[digits] ?? byLastFour[digits.slice(-4)];
}
