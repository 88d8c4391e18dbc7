import type { Vault } from '../../server/vault/vault.ts';
import type { SteppedPool } from './stepped.ts';

/** Safeguards that can be removed, to show that the explorer finds the faults that they prevent. */

export const safeguards = ['references', 'validity', 'claims', 'outcomes', 'gate'] as const;
export type Without = (typeof safeguards)[number];

const rewrites: Partial<Record<Without, (text: string) => string>> = {
  /** An outcome is recorded although the operation was sent again, or is in doubt. */
  outcomes: (text) =>
    text
      .replace(/ AND t\.sending = c\.sending[\s\S]*? OFFSET 0 FOR UPDATE/, ' OFFSET 0 FOR UPDATE')
      .replace(' AND t.sending = m.sending', ''),
  /** Intents are recorded behind a closed gate. */
  gate: (text) => text.replaceAll("c.gate IS NOT DISTINCT FROM 'closed'", 'false'),
};

/** Changes the statements of the service. */
export const rewriteWithout = (without: Without | undefined): ((text: string) => string) | undefined =>
  without && rewrites[without];

const restoreMark = '.r';
export const unmapped = (reference: string): string => reference.split(restoreMark)[0] ?? '';

/** References that a restored database cannot derive again. */
export function randomReferences(vault: Vault, restores: () => number): Vault {
  const mapped = (reference: string): string => `${reference}${restoreMark}${restores()}`;
  return {
    ...vault,
    charge: (request) => vault.charge({ ...request, reference: mapped(request.reference) }),
    lookup: (request) => vault.lookup({ ...request, reference: mapped(request.reference) }),
  };
}

/** The dispatcher without the statement that releases claims whose answer was lost. */
export function keepingLostClaims(pool: SteppedPool): SteppedPool {
  return {
    ...pool,
    query: (text, values) =>
      text.includes('AS held (endpoint_id, event_id)') ? Promise.resolve([]) : pool.query(text, values),
  };
}
