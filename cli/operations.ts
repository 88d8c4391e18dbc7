import list from './operations.json' with { type: 'json' };

/** The operations of the API as commands. `node scripts/reference.ts` writes the list from the OpenAPI document. */

/** How the text of an option becomes a value of the body or the query. */
export type ValueKind = 'text' | 'integer' | 'number' | 'boolean' | 'object' | 'objects' | 'json' | 'file';

export interface Field {
  /** With dots for the fields of an object, and `*` for the position in a list. */
  readonly name: string;
  readonly kind: ValueKind;
  /** Can be given several times. */
  readonly several?: boolean;
  readonly required?: boolean;
  readonly nullable?: boolean;
  readonly describe?: string;
  readonly values?: readonly string[];
  /** Sent under this name in the query, for example `created_at[gte]`. */
  readonly sentAs?: string;
}

export interface Operation {
  /** For example `customers create`. */
  readonly name: string;
  readonly method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  readonly path: string;
  readonly ids: readonly string[];
  readonly summary: string;
  /** Takes an idempotency key. */
  readonly isKeyed: boolean;
  /** Has pages with cursors. */
  readonly isPaged: boolean;
  /** The part of a request that the fields are. */
  readonly sends: 'query' | 'body' | 'file';
  readonly fields: readonly Field[];
  /** The columns of a list of objects. */
  readonly columns?: readonly string[];
}

export const operations = list as readonly Operation[];
