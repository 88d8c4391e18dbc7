import type { Company } from '../../server/company.ts';
import { localVault, type Vault } from '../../server/vault/vault.ts';
import { connectTo, vaultBehind } from './connect.ts';
import { companyOf, type Person, signUp } from './dashboard.ts';
import {
  liveConfiguration,
  type LiveKind,
  type LiveProcessors,
  liveSecrets,
  settingsFor,
  startLiveProcessors,
} from './live-processors.ts';
import { openShop, type Shop } from './orders.ts';
import { startTestService, type TestOptions, type TestService } from './service.ts';

export interface ConnectedMerchant {
  readonly owner: Person;
  readonly company: Company;
  readonly companyId: string;
  readonly connections: readonly string[];
  readonly key: string;
  readonly shop: Shop;
}

/** A service whose merchants are connected to the simulated processors. */
export interface LiveService {
  readonly service: TestService;
  readonly fakes: LiveProcessors;
  /** The vault without what interferes. */
  readonly vault: Vault;
  /** Connects a company to a processor; returns the ID of the connection. */
  connect(companyId: string, kind: LiveKind): Promise<string>;
  /** Signs up a merchant whose live company is connected to these processors, in this order. */
  connectMerchant(...kinds: readonly LiveKind[]): Promise<Omit<ConnectedMerchant, 'shop'>>;
  /** The same, with a customer and a product. */
  openMerchant(...kinds: readonly LiveKind[]): Promise<ConnectedMerchant>;
  stop(): Promise<void>;
}

/** `interference` returns the calls that a test puts between the service and its vault. */
export async function startLiveService(
  options: TestOptions = {},
  interference?: () => Partial<Vault>,
): Promise<LiveService> {
  const fakes = await startLiveProcessors();
  const between = vaultBehind(
    () => vault,
    () => ({ nowMs: async () => Date.now(), ...interference?.() }),
  );
  const settings = { ...settingsFor(fakes), ...options.settings };
  const service = await startTestService({ ...options, settings, ...(interference && { vault: between }) });
  const origins = Object.values(fakes).map(({ url }) => url);
  const vault: Vault = interference ? localVault(service.vaultDb, service.keys, service.clock, origins) : service.vault;

  const connect: LiveService['connect'] = (companyId, kind) =>
    connectTo(service, companyId, {
      kind,
      configuration: liveConfiguration(fakes, kind, liveSecrets[kind]),
      timeoutMs: 1_000,
      requestLifeMs: 60_000,
      extraOrigins: [fakes[kind].url],
    });

  const connectMerchant: LiveService['connectMerchant'] = async (...kinds) => {
    const owner = await signUp(service);
    const companyId = companyOf(owner, 'live');
    const company: Company = { ...service.company, id: companyId, mode: 'live', processor: 'connected' };
    const connections: string[] = [];
    for (const kind of kinds) connections.push(await connect(companyId, kind));
    return { owner, company, companyId, connections, key: await service.createKey(company) };
  };

  return {
    service,
    fakes,
    vault,
    connect,
    connectMerchant,
    async openMerchant(...kinds) {
      const merchant = await connectMerchant(...kinds);
      return { ...merchant, shop: await openShop(service, undefined, { key: merchant.key }) };
    },
    async stop() {
      await Promise.all([service, ...Object.values(fakes)].map((one) => one.stop()));
    },
  };
}
