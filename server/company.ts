/** A merchant's company. It is either a sandbox, where no money moves, or live. */
export interface Company {
  readonly id: string;
  /** The name of the shard that has its data. */
  readonly shard: string;
  readonly accountId: string;
  readonly name: string;
  readonly mode: Mode;
  readonly apiVersion: string;
  readonly clockOffsetMs: number;
  /** Whether its cards can be charged. A live company has no processor until it connects one. */
  readonly processor: 'sandbox' | 'connected' | null;
}

export type Mode = 'sandbox' | 'live';
