/** A merchant's company. It is either a sandbox, where no money moves, or live. */
export interface Company {
  readonly id: string;
  readonly accountId: string;
  readonly name: string;
  readonly mode: Mode;
  readonly apiVersion: string;
  readonly clockOffsetMs: number;
  /** The processor of its cards. A live company has none until it connects one. */
  readonly processor: 'sandbox' | 'acquirer' | null;
}

export type Mode = 'sandbox' | 'live';
