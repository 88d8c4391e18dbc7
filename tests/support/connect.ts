import { randomUUID } from 'node:crypto';
import { addConnection } from '../../server/features/processors/service.ts';
import type { Database } from '../../server/platform/database.ts';
import { Secret } from '../../server/platform/secret.ts';
import type { KeyStore } from '../../server/vault/key-store.ts';
import { storeConnection } from '../../server/vault/processors/connections.ts';
import type { Configuration, KindName } from '../../server/vault/processors/kind.ts';
import type { Vault } from '../../server/vault/vault.ts';

interface Installation {
  readonly db: Database;
  readonly vaultDb: Database;
  readonly keys: KeyStore;
}

export interface TestConnection {
  readonly kind: KindName;
  readonly configuration: Configuration;
  readonly timeoutMs: number;
  readonly requestLifeMs: number;
  readonly extraOrigins?: readonly string[];
}

/** Connects a company to a processor, without the dashboard. Returns the id of the connection. */
export async function connectTo(
  { db, vaultDb, keys }: Installation,
  companyId: string,
  { kind, configuration, timeoutMs, requestLifeMs, extraOrigins = [] }: TestConnection,
): Promise<string> {
  const id = randomUUID();
  const stored = { companyId, id, kind, configuration: new Secret(configuration), timeoutMs };
  await storeConnection(vaultDb, keys, extraOrigins, stored);
  await addConnection(db, { company_id: companyId, id, kind, name: kind, request_life_ms: requestLifeMs });
  return id;
}

export interface TestAcquirerConnection {
  readonly url: string;
  readonly secret: string;
  readonly timeoutMs: number;
  readonly requestLifeMs: number;
}

export async function connectAcquirer(
  installation: Installation,
  companyId: string,
  { url, secret, ...timing }: TestAcquirerConnection,
): Promise<string> {
  return connectTo(installation, companyId, { kind: 'acquirer', configuration: { url, secret }, ...timing });
}

const vaultCalls = [
  'store',
  'fingerprint',
  'remove',
  'charge',
  'authorize',
  'capture',
  'refund',
  'void',
  'lookup',
  'operations',
  'connect',
  'forget',
  'test',
  'receive',
  'poll',
  'release',
  'defenseReasons',
  'submitEvidence',
  'acceptDispute',
  'verification',
  'health',
  'nowMs',
] as const satisfies (keyof Vault)[];

/** A vault whose calls go to another vault, which may be opened later, unless a test answers them. */
export function vaultBehind(current: () => Partial<Vault>, own: () => Partial<Vault> = () => ({})): Vault {
  const calls = vaultCalls.map((name) => [
    name,
    (...parameters: readonly unknown[]) => {
      const call = (own()[name] ?? current()[name]) as (...given: readonly unknown[]) => unknown;
      return call(...parameters);
    },
  ]);
  return Object.fromEntries(calls);
}
