import type { Static, TObject } from 'typebox';
import type { CallApi, Fields } from './call.ts';

/** A tool as data: what a client is told about it, and what it does with the API. */

export interface Toolbox {
  readonly call: CallApi;
  /** For links into the dashboard and the guides. */
  readonly baseUrl: string;
}

/** `sandbox`: changes objects of a sandbox, with a key of a sandbox only. What changes live objects is in `live-tools.ts`. */
type Changes = 'nothing' | 'sandbox';

/** What clients read of a tool before they let an agent use it. */
export interface Annotated {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly input: TObject;
  /** A change that cannot be taken back, for example a refund. */
  readonly destructive?: boolean;
  /** A second call with the same arguments changes nothing more. */
  readonly isIdempotent?: boolean;
  /** Reaches others than the service: card networks, servers of webhooks. */
  readonly reachesOut?: boolean;
}

export interface Tool extends Annotated {
  readonly changes: Changes;
  readonly run: (input: never, toolbox: Toolbox) => Promise<Fields>;
}

export const defineTool = <Input extends TObject>(
  tool: Omit<Tool, 'input' | 'run'> & {
    readonly input: Input;
    readonly run: (input: Static<Input>, toolbox: Toolbox) => Promise<Fields>;
  },
): Tool => tool;
