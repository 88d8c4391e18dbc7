import type { OperationKind } from './protocol.ts';

/**
 * The faults that the simulated acquirer can produce. The seed and the order of arrival decide which request gets
 * which fault.
 */

const operationFaults = [
  'timeout_before',
  'timeout_after',
  'error_before',
  'error_after',
  'reset_before',
  'reset_after',
  'late',
  'duplicate',
] as const;
const lookupFaults = ['lookup_timeout', 'lookup_error'] as const;

export type Fault =
  | (typeof operationFaults)[number]
  | (typeof lookupFaults)[number]
  | 'reject_refund'
  | `decline:${string}`;

export interface Control {
  readonly faults?: Readonly<Record<string, number>>;
  readonly next?: readonly string[];
  /** Null means 1 to 3 business days. */
  readonly settle_after_ms?: number | null;
  readonly seed?: number;
}

export interface Faults {
  set(control: Control): void;
  /** Returns the fault for this request, if any. */
  pick(request: OperationKind | 'lookup'): Fault | undefined;
  /** At least 0 and less than 1. */
  random(): number;
}

function isFault(text: string): text is Fault {
  const known: readonly string[] = [...operationFaults, ...lookupFaults, 'reject_refund'];
  return known.includes(text) || /^decline:(?!00)\d\d$/.test(text);
}

function appliesTo(fault: Fault, request: OperationKind | 'lookup'): boolean {
  if (fault.startsWith('lookup_')) return request === 'lookup';
  if (fault === 'reject_refund') return request === 'refund';
  return request !== 'lookup';
}

const isProbability = (value: unknown): boolean => typeof value === 'number' && value >= 0 && value <= 1;
const isCount = (value: unknown): boolean => Number.isSafeInteger(value) && Number(value) >= 0;

export function isControl(value: unknown): value is Control {
  if (typeof value !== 'object' || value === null) return false;
  const { faults = {}, next = [], settle_after_ms = null, seed = 0, ...rest } = value as Record<string, unknown>;
  return (
    Object.keys(rest).length === 0 &&
    typeof faults === 'object' &&
    faults !== null &&
    Object.entries(faults).every(([kind, probability]) => isFault(kind) && isProbability(probability)) &&
    Array.isArray(next) &&
    next.every((kind) => typeof kind === 'string' && isFault(kind)) &&
    (settle_after_ms === null || isCount(settle_after_ms)) &&
    isCount(seed)
  );
}

/** Mulberry32: small, and good enough to choose faults. */
function seededRandom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

export function openFaults(): Faults {
  let random = seededRandom(1);
  let probabilities: [Fault, number][] = [];
  let next: Fault[] = [];

  return {
    random: () => random(),
    set(control) {
      if (control.seed !== undefined) random = seededRandom(control.seed);
      if (control.next) next = control.next.filter(isFault);
      if (control.faults) {
        probabilities = Object.entries(control.faults).flatMap(([kind, probability]): [Fault, number][] =>
          isFault(kind) ? [[kind, probability]] : [],
        );
      }
    },
    pick(request) {
      const ordered = next.findIndex((fault) => appliesTo(fault, request));
      if (ordered >= 0) return next.splice(ordered, 1)[0];
      let draw = random();
      for (const [fault, probability] of probabilities) {
        if (!appliesTo(fault, request)) continue;
        if (draw < probability) return fault;
        draw -= probability;
      }
      return undefined;
    },
  };
}
