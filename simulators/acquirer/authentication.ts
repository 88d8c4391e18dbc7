import { randomUUID } from 'node:crypto';
import { type Visit, withParameters } from '../bank-page.ts';
import type { ShownAuthentication } from '../../server/vault/processors/acquirer/protocol.ts';
import { authenticatedBy, type Challenge, type Entry, unexecuted } from './books.ts';

/** When the bank of a card asks the customer, and the page on which it does. */

type Fields = Readonly<Record<string, unknown>>;

export interface Habits {
  /** Whether banks want the customer to confirm each payment, as in Europe. */
  wantsAuthentication: boolean;
  /** Whether banks recognize their customers without asking them. */
  isFrictionless: boolean;
  /** How long the customer can answer. Without it, until the service ends it. */
  challengeForMs: number | undefined;
}

/** Takes the habits out of the body of `POST /control`. Returns what else it asks for. */
export function setHabits(habits: Habits, body: Fields): Fields {
  const { wants_authentication, frictionless, challenge_for_ms, ...others } = body;
  if (typeof wants_authentication === 'boolean') habits.wantsAuthentication = wants_authentication;
  if (typeof frictionless === 'boolean') habits.isFrictionless = frictionless;
  if (challenge_for_ms !== undefined) {
    habits.challengeForMs = typeof challenge_for_ms === 'number' ? challenge_for_ms : undefined;
  }
  return others;
}

interface Step {
  readonly challenge?: Challenge;
  readonly authentication?: ShownAuthentication;
  /** The bank declines, because the customer is not there. */
  readonly declineCode?: '1A';
}

interface Asked {
  readonly body: Fields;
  readonly origin: string;
  readonly nowMs: number;
  readonly fault: string | undefined;
  /** With what the bank declines afterwards. */
  readonly declineCode: string | undefined;
}

function externalIn({ external_authentication: given }: Fields): ShownAuthentication | undefined {
  if (typeof given !== 'object' || given === null) return undefined;
  const { eci, version } = given as { readonly eci: string; readonly version: string };
  const isAttempt = eci === '01' || eci === '06';
  return { flow: null, status: isAttempt ? 'attempted' : 'authenticated', liability_shifted: true, version, eci };
}

/** The test card whose bank asks for each payment. */
const askingCard = '4000002760003184';

/** What the bank does before it pays. A charge of the merchant needs the link to one that the customer confirmed. */
export function stepOf(
  { wantsAuthentication, isFrictionless, challengeForMs }: Habits,
  { body, origin, nowMs, fault, declineCode }: Asked,
): Step {
  const external = externalIn(body);
  if (external) return { authentication: external };
  const { number } = (body.card ?? {}) as { readonly number?: unknown };
  if (!wantsAuthentication && fault !== 'authentication' && number !== askingCard) return {};
  if (body.initiator === 'merchant') return body.network_transaction_id ? {} : { declineCode: '1A' };
  if (typeof body.return_url !== 'string') return { declineCode: '1A' };
  if (isFrictionless) return { authentication: authenticatedBy('frictionless') };
  const id = randomUUID();
  return {
    challenge: {
      id,
      url: `${origin}/bank/${id}`,
      return_url: body.return_url,
      ...(challengeForMs !== undefined && { expires_at_ms: nowMs + challengeForMs }),
      ...(declineCode !== undefined && { decline_code: declineCode }),
    },
  };
}

/** The customer at the page of the bank. */
export function visitOf(
  entry: Entry | undefined,
  nowMs: () => number,
  decide: (entry: Entry, isPassed: boolean) => Promise<void>,
): Visit | undefined {
  const { challenge } = entry ?? {};
  if (!entry || !challenge) return undefined;
  return {
    subject: `${entry.amount ?? ''} ${entry.currency ?? 'the card is saved'}, card ending in ${entry.last4}`,
    isOpen: unexecuted(entry, nowMs()) === 'needs_customer',
    decide: (isPassed) => decide(entry, isPassed),
    returnUrl: () => withParameters(challenge.return_url, { acquirer_reference: entry.reference }),
    forgedUrl: () => withParameters(challenge.return_url, { acquirer_reference: randomUUID() }),
  };
}
