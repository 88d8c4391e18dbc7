import type { CardWatch, SentRequest } from '../../http/observers.ts';
import { limits } from '../../limits.ts';
import { createBackground } from '../../platform/background.ts';
import { looksLikeCardNumber, maskCardNumbers } from '../../platform/card-digits.ts';
import type { Clock } from '../../platform/clock.ts';
import { hourMs } from '../../platform/durations.ts';
import type { Logger } from '../../platform/log.ts';
import { follow } from '../../shards/follow.ts';
import type { Shards } from '../../shards/shards.ts';
import { dismissSeen, findWarnings, noteField } from './queries.ts';
import type { CardWarnings } from './schemas.ts';
import type { RequestContext } from '../../request-context.ts';

/**
 * In fields that programs fill, a number that looks like a card is accepted, since one in ten of a merchant's own
 * numbers does. The company gets a warning with the name of the field, never with the value.
 */

// Fields where a card or a secret belongs; the request log masks the same names.
const expected: readonly string[] = ['card', 'password', 'current_password', 'secret', 'token', 'card_token'];

/** Returns the names of body fields whose value looks like a card number: `metadata.order`, `metadata.lines[]`. */
export function cardFieldsIn(value: unknown, path = '', found: string[] = []): string[] {
  if (typeof value === 'string' || typeof value === 'number') {
    if (looksLikeCardNumber(String(value))) found.push(path);
  } else if (Array.isArray(value)) {
    for (const entry of value) cardFieldsIn(entry, `${path}[]`, found);
  } else if (typeof value === 'object' && value !== null) {
    for (const [name, inner] of Object.entries(value)) {
      if (path === '' && expected.includes(name)) continue;
      const shown = maskCardNumbers(name);
      const field = path ? `${path}.${shown}` : shown;
      if (shown !== name && looksLikeCardNumber(name)) found.push(field);
      cardFieldsIn(inner, field, found);
    }
  }
  return found;
}

const rememberedMs = hourMs;

interface WatchDependencies {
  readonly shards: Pick<Shards, 'of' | 'find'>;
  readonly clock: Clock;
  readonly log: Logger;
}

export function openCardWatch({ shards, clock, log }: WatchDependencies): CardWatch {
  const background = createBackground();
  // The fields recorded within the last hour, by company, so that a field that always holds such numbers costs one
  // statement per hour.
  const noted = new Map<string, Set<string>>();
  let forgetAtMs = 0;

  function note(company: SentRequest['company'], operation: string, field: string): void {
    const { id: companyId } = company;
    const nowMs = clock.nowMs();
    if (nowMs >= forgetAtMs) {
      noted.clear();
      forgetAtMs = nowMs + rememberedMs;
    }
    const known = noted.get(companyId) ?? new Set();
    if (known.has(`${operation} ${field}`) || known.size >= limits.cardWarnings) return;
    noted.set(companyId, known.add(`${operation} ${field}`));
    const stored = follow(shards, company, ({ db }) => noteField(db, companyId, operation, field, limits.cardWarnings));
    background.run(stored, (error) =>
      log.warn({ err: error, company: companyId, operation, field }, 'failed to store a card warning'),
    );
  }

  return {
    look({ company, operation, body, idempotencyKey }) {
      for (const field of cardFieldsIn(body)) note(company, operation, field);
      if (idempotencyKey && looksLikeCardNumber(idempotencyKey)) note(company, operation, 'X-SVC-Idempotency-Key');
    },
    flush: () => background.flush(),
  };
}

export async function getCardWarnings({ db, company }: RequestContext): Promise<CardWarnings> {
  const rows = await findWarnings(db, company.id);
  return {
    data: rows.map(({ operation, field, first_seen_at, last_seen_at }) => ({
      operation,
      field,
      first_seen_at: first_seen_at.toISOString(),
      last_seen_at: last_seen_at.toISOString(),
    })),
  };
}

export async function dismissCardWarnings(context: RequestContext, seenBy: string): Promise<CardWarnings> {
  // The database stores microseconds, but a list shows milliseconds.
  await dismissSeen(context.db, context.company.id, new Date(Date.parse(seenBy) + 1));
  return getCardWarnings(context);
}
