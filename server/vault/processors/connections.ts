import type { Mode } from '../../company.ts';
import type { Database } from '../../platform/database.ts';
import { Secret } from '../../platform/secret.ts';
import type { KeyStore } from '../key-store.ts';
import { open, rewrap, seal } from '../keys.ts';
import { deleteConnection, findConnection, findConnectionsToRewrap, saveConnection } from '../queries.ts';
import { acquirerProcessor } from './acquirer/adapter.ts';
import { observedProcessor, type ProcessorHealth, watchProcessors } from './observed.ts';
import type { Processor } from './processor.ts';
import { sandboxProcessor } from './sandbox/sandbox.ts';

/**
 * Selects the processor that charges the cards of a company: the sandbox, or the acquirer that the live company is
 * connected to.
 */

const sealedPart = 'processor';
const cacheMs = 2_000;

export function connectedProcessors(
  db: Database,
  keys: KeyStore,
  health: ProcessorHealth = watchProcessors(),
): (companyId: string, mode: Mode) => Promise<Processor | undefined> {
  const sandbox = observedProcessor(sandboxProcessor(db, keys), 'sandbox');
  const found = new Map<string, { untilMs: number; processor: Promise<Processor | undefined> }>();
  // Adapters stay for the life of the process, since they keep their connections open.
  const adapters = new Map<string, Processor>();

  async function connect(companyId: string): Promise<Processor | undefined> {
    const connection = await findConnection(db, companyId);
    if (!connection) return undefined;
    const secret = open(await keys.ring('live'), companyId, sealedPart, connection.credential);
    const { url, timeoutMs } = connection;
    const identity = `${url} ${timeoutMs} ${secret}`;
    const known = adapters.get(identity);
    if (known) return known;
    const adapter = acquirerProcessor({ url, secret: new Secret(secret), timeoutMs });
    const observed = observedProcessor(adapter, 'acquirer', (problem) => health.note(url, problem));
    adapters.set(identity, observed);
    return observed;
  }

  return async (companyId, mode) => {
    if (mode === 'sandbox') return sandbox;
    const known = found.get(companyId);
    if (known && performance.now() < known.untilMs) return known.processor;
    const processor = connect(companyId);
    found.set(companyId, { untilMs: performance.now() + cacheMs, processor });
    processor.catch(() => found.delete(companyId));
    return processor;
  };
}

export interface ProcessorConnection {
  readonly url: string;
  readonly secret: Secret<string>;
  readonly timeoutMs: number;
  readonly requestLifeMs: number;
}

export async function connectProcessor(
  db: Database,
  keys: KeyStore,
  companyId: string,
  { secret, ...connection }: ProcessorConnection,
): Promise<void> {
  const credential = seal(await keys.ring('live'), companyId, sealedPart, secret.reveal());
  await saveConnection(db, { companyId, ...connection, credential });
}

export const disconnectProcessor = deleteConnection;

/** Runs when the keys of the vault are rotated, together with the cards. */
export async function rewrapConnections(db: Database, keys: KeyStore): Promise<number> {
  const ring = await keys.ring('live');
  const connections = await findConnectionsToRewrap(db, ring.current);
  for (const connection of connections) {
    const credential = rewrap(ring, connection.companyId, sealedPart, connection.credential);
    await saveConnection(db, { ...connection, credential });
  }
  return connections.length;
}
