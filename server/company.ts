import { ApiError } from './errors.ts';

/** A merchant's company: a sandbox with a simulated processor, a rehearsal with test accounts of processors, or live. */
export interface Company {
  readonly id: string;
  /** The name of the shard that has its data. */
  readonly shard: string;
  readonly accountId: string;
  readonly name: string;
  readonly mode: Mode;
  readonly apiVersion: string;
  readonly clockOffsetMs: number;
  /** Whether its cards can be charged. Without a simulated processor, it has none until it connects one. */
  readonly processor: 'sandbox' | 'connected' | null;
  /** Of a sandbox: whether its cards are authenticated by their bank. */
  readonly authenticates?: boolean;
  /** The language of its pages, emails and documents where nothing else decides. Null: English. */
  readonly locale?: string | null;
}

export const modes = ['sandbox', 'rehearsal', 'live'] as const;
export type Mode = (typeof modes)[number];

/** Whether charges go to processors that the company connects. A sandbox has a simulated one. */
export const connects = (mode: Mode): boolean => mode !== 'sandbox';

/** A company as its shard stores it. */
export interface CompanyRow {
  id: string;
  account_id: string;
  name: string;
  mode: Company['mode'];
  api_version: string;
  clock_offset_ms: number;
  processor: Company['processor'];
  authenticates: boolean;
  locale: string | null;
}

export function toCompany(row: CompanyRow, shard: string): Company {
  return {
    id: row.id,
    shard,
    accountId: row.account_id,
    name: row.name,
    mode: row.mode,
    apiVersion: row.api_version,
    clockOffsetMs: row.clock_offset_ms,
    processor: row.processor,
    authenticates: row.authenticates,
    locale: row.locale,
  };
}

/** For everything that leads to a charge. */
export function requireProcessor({ processor }: Pick<Company, 'processor'>): void {
  if (processor) return;
  throw new ApiError('merchant_not_configured', 'This company has no payment processor. Connect one first.');
}
