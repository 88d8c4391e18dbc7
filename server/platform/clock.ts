/** Real time. It is passed in, so that tests and the sandbox can set the time. */
export interface Clock {
  nowMs(): number;
}

export const systemClock: Clock = { nowMs: () => Date.now() };
