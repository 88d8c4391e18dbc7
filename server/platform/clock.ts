/** Real time. Passed in, so that tests and the sandbox can decide what time it is. */
export interface Clock {
  nowMs(): number;
}

export const systemClock: Clock = { nowMs: () => Date.now() };
