import { acquirerKind } from './acquirer/kind.ts';
import { adyenKind } from './adyen/kind.ts';
import type { ProcessorKind } from './kind.ts';
import { nmiKind } from './nmi/kind.ts';
import { stripeKind } from './stripe/kind.ts';

/** The kinds of processors that a live company can connect. */
export const processorKinds: readonly ProcessorKind[] = [stripeKind, nmiKind, adyenKind, acquirerKind];

/** The kinds at which the merchant records how a dispute ended. */
export const kindsWithoutDecisions: readonly string[] = processorKinds.flatMap(({ kind, reportsNoDecisions }) =>
  reportsNoDecisions ? [kind] : [],
);

export function kindNamed(kind: string): ProcessorKind {
  const found = processorKinds.find((one) => one.kind === kind);
  if (!found) throw new Error(`there is no kind of processor named ${kind}`);
  return found;
}
