import type { Configuration, KindName } from '../../server/vault/processors/kind.ts';
import { type Simulator, startSimulator } from './simulator.ts';

/** The simulated test accounts of all kinds of processors. */

export const accountKinds = ['stripe', 'nmi', 'adyen', 'acquirer'] as const;

const testKeys: Readonly<Record<KindName, string>> = {
  stripe: 'sk_test_51NotARealKey00000000',
  nmi: 'FakeSecurityKey'.padEnd(32, '8'),
  adyen: `AQE${'x'.repeat(60)}`,
  acquirer: 'secret of the acquirer',
};

export type TestAccounts = Readonly<Record<KindName, Simulator>>;

export async function startTestAccounts(): Promise<TestAccounts> {
  const started = await Promise.all(
    accountKinds.map(async (kind) => [kind, await startSimulator(kind, testKeys[kind])] as const),
  );
  const accounts = Object.fromEntries(started) as unknown as TestAccounts;
  await accounts.nmi.control({ test_mode: true });
  return accounts;
}

export function testConfiguration(accounts: TestAccounts, kind: KindName): Configuration {
  const { url } = accounts[kind];
  const key = testKeys[kind];
  const configurations: Readonly<Record<KindName, Configuration>> = {
    stripe: { secret_key: key, api_url: url },
    nmi: { security_key: key, api_url: url },
    adyen: {
      api_key: key,
      merchant_account: 'SvcECOM',
      hmac_key: '00'.repeat(32),
      api_url: `${url}/checkout/v72#test`,
    },
    acquirer: { url: `${url}/`, secret: key },
  };
  return configurations[kind];
}
