import type { Client } from './client.ts';
import type { Environment } from './environment.ts';

/** A workload. To add one, export it from a new file and add a line to the table in `run.ts`. */

export interface BenchRequest {
  readonly method: 'GET' | 'POST' | 'PATCH';
  readonly path: string;
  readonly body?: unknown;
  /** Sent as it is, instead of `body`. */
  readonly raw?: string;
  /** Of `raw`, where it is not JSON; each of its characters is a byte then. */
  readonly contentType?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Called once for each job in the client process, with its data. The returned function creates one request per call. */
export type RequestMaker = (data: Readonly<Record<string, readonly string[]>>) => () => BenchRequest;

export interface BenchOptions {
  /** Seconds of one measurement. Each workload has its own default. */
  readonly seconds: number | undefined;
  readonly rounds: number;
  readonly rows: number;
  /** How many clients the API processes share. */
  readonly connections: number;
  /** The kinds of `fairness` to run. Default: all. */
  readonly kinds: readonly string[];
  /** Runs only the cases that match. */
  readonly only: RegExp;
  /** The commit or folder to compare this tree with. */
  readonly against: string | undefined;
  /** What charges the orders of a comparison with another tree. */
  readonly processor: 'sandbox' | 'acquirer';
  readonly profile: boolean;
}

/** Another state of this repository that is measured in the same rounds. */
export interface OtherTree {
  readonly root: string;
  /** The database and processes of that tree. */
  startEnvironment(): Promise<Environment>;
}

export interface Bench {
  readonly environment: Environment;
  readonly client: Client;
  readonly options: BenchOptions;
  readonly against: OtherTree | undefined;
  note(text: string): void;
}

export type Cell = string | number | null;

export interface Table {
  readonly title: string;
  readonly columns: readonly string[];
  readonly rows: readonly (readonly Cell[])[];
}

export interface Target {
  readonly name: string;
  readonly wanted: string;
  readonly measured: string;
  readonly met: boolean;
}

export interface Report {
  readonly tables: readonly Table[];
  readonly targets: readonly Target[];
}

export interface Workload {
  /** Where the client process finds `requests`: `import.meta.url`. */
  readonly module: string;
  readonly requests: Readonly<Record<string, RequestMaker>>;
  /** The rounds of each comparison, unless the command line says otherwise. Default: 3, or 10 beside another tree. */
  readonly rounds?: number;
  readonly run: (bench: Bench) => Promise<Report>;
}
