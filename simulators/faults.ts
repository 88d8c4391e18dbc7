/**
 * The faults that a simulated processor produces. The seed and the order of arrival decide which request gets which
 * fault.
 */

/**
 * What can be wrong with any answer: it comes after the time limit, a page about maintenance comes instead, the connection closes
 * within the headers or the body, or the type is another one.
 */
export const answerFaults = [
  'slow',
  'maintenance_503',
  'maintenance_200',
  'cut_headers',
  'cut_body',
  'other_type',
] as const;
export type AnswerFault = (typeof answerFaults)[number];

/** What can happen to any request that changes something: before or after it was executed. */
export const operationFaults = [
  'timeout_before',
  'timeout_after',
  'error_before',
  'error_after',
  'reset_before',
  'reset_after',
  'late',
  'duplicate',
  'maintenance_503_before',
  'maintenance_200_before',
  'cut_headers_before',
  'other_type_before',
  ...answerFaults.map((fault) => `${fault}_after` as const),
] as const;
export const lookupFaults = [
  'lookup_timeout',
  'lookup_error',
  ...answerFaults.map((fault) => `lookup_${fault}` as const),
] as const;

export interface Control {
  readonly faults?: Readonly<Record<string, number>>;
  readonly next?: readonly string[];
  /** Null means the usual time of the processor. */
  readonly settle_after_ms?: number | null;
  readonly seed?: number;
}

/** Returns the requests to which a fault applies; undefined if there is no such fault. */
export type FaultRules<Request extends string> = (fault: string) => readonly Request[] | undefined;

export interface Faults<Request extends string> {
  isControl(value: unknown): value is Control;
  set(control: Control): void;
  /** Returns the fault for this request, if any. */
  pick(request: Request): string | undefined;
  /** At least 0 and less than 1. */
  random(): number;
}

const isProbability = (value: unknown): boolean => typeof value === 'number' && value >= 0 && value <= 1;
const isCount = (value: unknown): boolean => Number.isSafeInteger(value) && Number(value) >= 0;

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

export function openFaults<Request extends string>(requestsOf: FaultRules<Request>): Faults<Request> {
  let random = seededRandom(1);
  let probabilities: readonly (readonly [fault: string, probability: number])[] = [];
  let next: string[] = [];
  const isFault = (value: unknown): boolean => typeof value === 'string' && requestsOf(value) !== undefined;
  const appliesTo = (fault: string, request: Request): boolean => requestsOf(fault)?.includes(request) === true;

  return {
    isControl(value): value is Control {
      if (typeof value !== 'object' || value === null) return false;
      const { faults = {}, next: ordered = [], settle_after_ms = null, seed = 0, ...rest } = value as Control;
      return (
        Object.keys(rest).length === 0 &&
        typeof faults === 'object' &&
        faults !== null &&
        Object.entries(faults).every(([fault, probability]) => isFault(fault) && isProbability(probability)) &&
        Array.isArray(ordered) &&
        ordered.every(isFault) &&
        (settle_after_ms === null || isCount(settle_after_ms)) &&
        isCount(seed)
      );
    },
    random: () => random(),
    set(control) {
      if (control.seed !== undefined) random = seededRandom(control.seed);
      if (control.next) next = [...control.next];
      if (control.faults) probabilities = Object.entries(control.faults);
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
