import { hash } from 'node:crypto';

/**
 * What an operation is for. The processor executes a reference once. A reference derived from its subject therefore
 * protects against double charges even if the database has forgotten the operation: a restored database derives the
 * same reference again.
 */
export const subjects = {
  /** An order, or the first charge of a subscription, by the idempotency key of its request. */
  key: (key: string) => ['key', key],
  /** A cycle of a subscription: its charge, dunning and every other retry of it. */
  cycle: (subscriptionId: string, cycle: number) => ['cycle', subscriptionId, String(cycle)],
  /** A change of plan by its number within the subscription, with every retry of it. */
  change: (subscriptionId: string, change: number) => ['plan change', subscriptionId, String(change)],
  /** By the order, or by the reference of its charge with a key, if that was given up or another connection repeats it. */
  retry: (orderId: string) => ['retry', orderId],
  keyedRefund: (key: string) => ['refund key', key],
  refund: (orderId: string) => ['refund', orderId],
  void: (orderId: string) => ['void', orderId],
  capture: (orderId: string) => ['capture', orderId],
} as const satisfies Record<string, (...parts: never[]) => readonly string[]>;

/** What the charge of an order of a subscription is for; undefined for any other order. */
export function billedSubject(order: {
  readonly subscription_id: string | null;
  readonly subscription_cycle: number | null;
  readonly subscription_change?: number | null;
}): readonly string[] | undefined {
  const { subscription_id, subscription_cycle, subscription_change } = order;
  if (subscription_id === null) return undefined;
  return typeof subscription_change === 'number'
    ? subjects.change(subscription_id, subscription_change)
    : subjects.cycle(subscription_id, subscription_cycle ?? 1);
}

export interface Numbered {
  readonly subject: readonly string[];
  /**
   * Counts the operations of one subject: the generation of a key, the attempt at a cycle, the refund of an order.
   */
  readonly number: number;
}

/** Whether the number is the generation of an idempotency key. */
export function isKeyed({ subject }: Pick<Numbered, 'subject'>): boolean {
  return subject[0] === 'key' || subject[0] === 'refund key';
}

/** The subject as it is recorded with an operation: without the idempotency key, which a client may have chosen badly. */
export function recordedSubject({ subject }: Numbered): readonly string[] {
  return isKeyed({ subject }) ? subject.slice(0, 1) : subject;
}

/** The subject and number of a recorded operation; undefined if they are of an idempotency key. */
export function numberedOf({ subject, number }: Numbered): Numbered | undefined {
  return isKeyed({ subject }) ? undefined : { subject, number };
}

/**
 * Returns a hash in the form of a UUID: 36 characters, which every processor accepts (Adyen 64, Stripe 255). It uses
 * no secret key, so that it survives the loss of every secret. It includes the company id, which a processor does not
 * know, so that a processor cannot guess idempotency keys from it.
 */
export function deriveReference(companyId: string, { subject, number }: Numbered): string {
  // No part contains a line break.
  const text = ['svc reference 1', companyId, ...subject, String(number)].join('\n');
  const digits = hash('sha256', text, 'hex');
  const variant = ((Number.parseInt(digits.slice(16, 18), 16) & 0x3f) | 0x80).toString(16);
  const groups = [
    digits.slice(0, 8),
    digits.slice(8, 12),
    `8${digits.slice(13, 16)}`,
    variant + digits.slice(18, 20),
    digits.slice(20, 32),
  ];
  return groups.join('-');
}

/** The reference of an operation, and what is recorded of its subject. */
export interface Referenced extends Numbered {
  readonly reference: string;
}

export function referenced(companyId: string, numbered: Numbered): Referenced {
  const reference = deriveReference(companyId, numbered);
  return { reference, subject: recordedSubject(numbered), number: numbered.number };
}

/**
 * What a charge continues as when its reference will never be executed. One with an idempotency key continues by its own
 * reference: a restored database can have forgotten the order with its id, and the repeated key must not be paid again.
 */
export function followingOf({ subject, number, reference }: Referenced): Numbered {
  return isKeyed({ subject }) ? { subject: subjects.retry(reference), number: 0 } : { subject, number: number + 1 };
}

/** How many charges one subject may have had since a backup. */
export const attemptsAhead = 12;

/** The references under which a charge with an idempotency key may have been made since a backup, after its own. */
export function laterReferences(companyId: string, { subject, reference }: Omit<Referenced, 'number'>): Referenced[] {
  if (!isKeyed({ subject })) return [];
  const later = subjects.retry(reference);
  return Array.from({ length: attemptsAhead }, (_, number) => referenced(companyId, { subject: later, number }));
}

/** How often a sale is sent again because a part of the service stopped. Then it fails: sending it may be the cause. */
export const interruptionsMax = 2;

/** Returns the first number, starting with this one, whose reference is unused. */
export function nextFree(companyId: string, from: Numbered, taken: ReadonlySet<string>): Numbered {
  for (let number = from.number; ; number += 1) {
    const candidate = { subject: from.subject, number };
    if (!taken.has(deriveReference(companyId, candidate))) return candidate;
  }
}
