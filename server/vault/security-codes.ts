import { inspect } from 'node:util';
import { minuteMs } from '../platform/durations.ts';

/**
 * The security codes of cards whose first charge was announced. They are in the memory of this process only, for one
 * charge of each card and at most 15 minutes. Nothing of them is ever written.
 */

/** The three or four digits, in memory that is overwritten with zeros. */
export class SecurityCode {
  readonly #bytes: Buffer;
  #isErased = false;

  constructor(digits: string) {
    // Not from the pool that Node shares between buffers.
    this.#bytes = Buffer.alloc(digits.length);
    this.#bytes.write(digits, 'latin1');
  }

  /** Undefined once it is erased. */
  reveal(): string | undefined {
    return this.#isErased ? undefined : this.#bytes.toString('latin1');
  }

  erase(): void {
    this.#isErased = true;
    this.#bytes.fill(0);
  }

  /** For the test that shows what an erased code leaves in memory. */
  static bytesOf(code: SecurityCode): Buffer {
    return code.#bytes;
  }

  toString(): string {
    return '***';
  }

  toJSON(): string {
    return '***';
  }

  [inspect.custom](): string {
    return '***';
  }
}

interface CardKey {
  readonly companyId: string;
  readonly cardId: string;
}

export interface SecurityCodes {
  keep(card: CardKey, code: SecurityCode): void;
  /**
   * Sends a charge with the code of its card, if it is here. The code is erased after the answer, unless no bank can have
   * seen it: then the next charge may have it.
   */
  use<Outcome>(
    card: CardKey,
    charge: (code: SecurityCode | undefined) => Promise<Outcome>,
    isUnseen: (outcome: Outcome) => boolean,
  ): Promise<Outcome>;
  erase(card: CardKey): void;
  eraseAll(): void;
}

interface Kept {
  readonly code: SecurityCode;
  readonly untilMs: number;
  readonly timer: NodeJS.Timeout;
}

const keptMs = 15 * minuteMs;
/** More wait only while someone tests cards. The oldest is erased first. */
const keptMax = 10_000;

export function openSecurityCodes(lifeMs = keptMs, max = keptMax): SecurityCodes {
  const kept = new Map<string, Kept>();
  const keyOf = ({ companyId, cardId }: CardKey): string => `${companyId} ${cardId}`;

  function take(key: string): Kept | undefined {
    const found = kept.get(key);
    if (!found) return undefined;
    kept.delete(key);
    clearTimeout(found.timer);
    return found;
  }

  function put(key: string, code: SecurityCode, untilMs: number): void {
    take(key)?.code.erase();
    const timer = setTimeout(() => take(key)?.code.erase(), Math.max(0, untilMs - performance.now()));
    timer.unref();
    kept.set(key, { code, untilMs, timer });
    for (const oldest of kept.keys()) {
      if (kept.size <= max) break;
      take(oldest)?.code.erase();
    }
  }

  return {
    keep: (card, code) => put(keyOf(card), code, performance.now() + lifeMs),
    async use(card, charge, isUnseen) {
      const key = keyOf(card);
      const found = take(key);
      if (!found) return charge(undefined);
      let keeps = false;
      try {
        const outcome = await charge(found.code);
        keeps = isUnseen(outcome) && performance.now() < found.untilMs && !kept.has(key);
        return outcome;
      } finally {
        if (keeps) put(key, found.code, found.untilMs);
        else found.code.erase();
      }
    },
    erase: (card) => take(keyOf(card))?.code.erase(),
    eraseAll() {
      for (const key of kept.keys()) take(key)?.code.erase();
    },
  };
}
