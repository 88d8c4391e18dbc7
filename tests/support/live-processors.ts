import assert from 'node:assert/strict';
import type { Configuration } from '../../server/vault/processors/kind.ts';
import { type Simulator, startSimulator } from './simulator.ts';

/** The simulated Stripe, NMI and Adyen, and a configuration for each. */

export const liveSecrets = {
  stripe: 'sk_live_51NotARealKey00000000',
  nmi: 'FakeSecurityKey'.padEnd(32, '8'),
  adyen: `AQE${'x'.repeat(60)}`,
} as const;
export type LiveKind = keyof typeof liveSecrets;
export const liveKinds = Object.keys(liveSecrets) as LiveKind[];
export type LiveProcessors = Readonly<Record<LiveKind, Simulator>>;

export async function startLiveProcessors(): Promise<LiveProcessors> {
  const [stripe, nmi, adyen] = await Promise.all(liveKinds.map((kind) => startSimulator(kind, liveSecrets[kind])));
  assert.ok(stripe && nmi && adyen);
  // As docs/processors/adyen.md asks for. A new account does not report them.
  await adyen.control({ network_references: true });
  return { stripe, nmi, adyen };
}

/** The settings with which a service may call them. */
export const settingsFor = (processors: LiveProcessors): { readonly SVC_PROCESSOR_ORIGINS: string } => ({
  SVC_PROCESSOR_ORIGINS: Object.values(processors)
    .map(({ url }) => url)
    .join(','),
});

export function liveConfiguration(processors: LiveProcessors, kind: LiveKind, key: string): Configuration {
  const { url } = processors[kind];
  if (kind === 'stripe') return { secret_key: key, api_url: url };
  if (kind === 'nmi') return { security_key: key, api_url: url };
  return { api_key: key, merchant_account: 'SvcECOM', hmac_key: '00'.repeat(32), api_url: `${url}/checkout/v72` };
}

/** How often a processor has executed an operation of this kind. */
export async function executedAt(fake: Simulator, kind: 'charge' | 'refund' | 'void'): Promise<number> {
  const { operations } = (await fake.call('GET', '/journal')) as { operations: { kind: string; status: string }[] };
  return operations.filter((one) => one.kind === kind && one.status === 'approved').length;
}
