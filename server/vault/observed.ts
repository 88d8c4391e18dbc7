import { histogram } from '../platform/metrics.ts';
import { traced } from '../platform/spans.ts';
import type { Vault } from './vault.ts';

const observe = histogram('svc_vault_call_duration_seconds');
type Labels = Parameters<typeof observe>[0];

async function measured<Answer>(
  operation: Labels['operation'],
  call: () => Promise<Answer>,
  resultOf: (answer: Answer) => Labels['result'] = () => 'done',
): Promise<Answer> {
  const startedMs = performance.now();
  let result: Labels['result'] = 'failed';
  try {
    const answer = await traced(`vault ${operation}`, { kind: 'client' }, call);
    result = resultOf(answer);
    return answer;
  } finally {
    observe({ operation, result }, (performance.now() - startedMs) / 1_000);
  }
}

const outcomeOf = ({ outcome }: { readonly outcome: Labels['result'] }): Labels['result'] => outcome;

/** Measures the calls to a vault, in this process or another one. */
export function observedVault(vault: Vault): Vault {
  return {
    ...vault,
    store: (card) => measured('store', () => vault.store(card)),
    fingerprint: (...parameters) => measured('fingerprint', () => vault.fingerprint(...parameters)),
    remove: (cards) => measured('remove', () => vault.remove(cards)),
    connect: (...parameters) => measured('connect', () => vault.connect(...parameters)),
    operations: (request) => measured('list', () => vault.operations(request)),
    charge: (request) => measured('charge', () => vault.charge(request), outcomeOf),
    authorize: (request) => measured('authorize', () => vault.authorize(request), outcomeOf),
    capture: (request) => measured('capture', () => vault.capture(request), outcomeOf),
    refund: (request) => measured('refund', () => vault.refund(request), outcomeOf),
    void: (request) => measured('void', () => vault.void(request), outcomeOf),
    lookup: (request) => measured('lookup', () => vault.lookup(request), outcomeOf),
    resume: (request) => measured('resume', () => vault.resume(request), outcomeOf),
  };
}
