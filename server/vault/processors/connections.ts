import type { Mode } from '../../company.ts';
import type { Database } from '../../platform/database.ts';
import { Secret } from '../../platform/secret.ts';
import {
  type ConnectionRow,
  findConnection,
  findConnectionsOf,
  findConnectionsToRewrap,
  findFirstConnection,
  saveConnection,
} from '../connection-queries.ts';
import type { KeyStore } from '../key-store.ts';
import { open, rewrap, seal } from '../keys.ts';
import { checkConfiguration, type Configuration } from './kind.ts';
import { kindNamed } from './kinds.ts';
import { observedProcessor, type ProcessorHealth, watchProcessors } from './observed.ts';
import type { Processor } from './processor.ts';
import { sandboxProcessor } from './sandbox/sandbox.ts';

/** Selects the processor of an operation: the sandbox, or the connection that the operation names. */

/** What the credential of a connection of version 0.1.0 is sealed as. */
const firstPart = 'processor';
const cacheMs = 2_000;

/** The processor of an operation, and the connection that it belongs to; null for the sandbox. */
export interface Connected {
  readonly processor: Processor;
  readonly connectionId: string | null;
}

export interface ConnectedProcessors {
  (companyId: string, mode: Mode, connectionId: string | undefined): Promise<Connected | undefined>;
  /** Called after the credentials of a connection were changed or removed. */
  forget(connectionId: string): void;
}

function configurationOf({ firstUrl }: ConnectionRow, opened: string): Configuration {
  return firstUrl === null ? (JSON.parse(opened) as Configuration) : { url: firstUrl, secret: opened };
}

export function connectedProcessors(
  db: Database,
  keys: KeyStore,
  extraOrigins: readonly string[] = [],
  health: ProcessorHealth = watchProcessors(),
): ConnectedProcessors {
  const sandbox: Connected = {
    processor: observedProcessor(sandboxProcessor(db, keys), 'sandbox'),
    connectionId: null,
  };
  const found = new Map<string, { untilMs: number; connected: Promise<Connected | undefined> }>();
  // Adapters stay, since they keep their connections open, until the credentials in them are replaced or removed.
  const adapters = new Map<string, { readonly identity: string; readonly processor: Processor }>();

  async function connect(companyId: string, connectionId: string | undefined): Promise<Connected | undefined> {
    const row = await (connectionId === undefined
      ? findFirstConnection(db, companyId)
      : findConnection(db, companyId, connectionId));
    if (!row) {
      // Another process may have removed the credentials.
      if (connectionId !== undefined) adapters.delete(connectionId);
      return undefined;
    }
    const { id, kind, timeoutMs } = row;
    const opened = await openCredential(keys, row);
    const identity = `${timeoutMs} ${opened}`;
    const known = adapters.get(id);
    if (known?.identity === identity) return { processor: known.processor, connectionId: id };
    const adapter = kindNamed(kind).open(configurationOf(row, opened), { timeoutMs, extraOrigins });
    const processor = observedProcessor(adapter, kindNamed(kind).kind, (problem) => health.note(id, problem));
    adapters.set(id, { identity, processor });
    return { processor, connectionId: id };
  }

  async function processorOf(companyId: string, mode: Mode, connectionId: string | undefined) {
    if (mode === 'sandbox') return sandbox;
    const identity = `${companyId} ${connectionId}`;
    const known = found.get(identity);
    if (known && performance.now() < known.untilMs) return known.connected;
    const connected = connect(companyId, connectionId);
    found.set(identity, { untilMs: performance.now() + cacheMs, connected });
    connected.catch(() => found.delete(identity));
    return connected;
  }

  return Object.assign(processorOf, {
    forget(connectionId: string) {
      adapters.delete(connectionId);
      for (const identity of found.keys()) if (identity.endsWith(` ${connectionId}`)) found.delete(identity);
    },
  });
}

/** A connection with its credentials, as an owner enters it. */
export interface NewConnection {
  readonly companyId: string;
  readonly id: string;
  readonly kind: string;
  readonly configuration: Secret<Configuration>;
  readonly timeoutMs: number;
  /** Whether fields that are not given keep the values that are stored. */
  readonly keepsOmitted?: boolean;
}

/** Adds the stored values of the fields that are not given, if they are kept. */
export async function completed(db: Database, keys: KeyStore, connection: NewConnection): Promise<NewConnection> {
  const { companyId, id, kind, configuration, keepsOmitted } = connection;
  const row = keepsOmitted ? await findConnection(db, companyId, id) : undefined;
  if (row?.kind !== kind) return connection;
  const stored = configurationOf(row, await openCredential(keys, row));
  return { ...connection, configuration: new Secret({ ...stored, ...configuration.reveal() }) };
}

/** The stored connections of the company whose credentials are those of this one; other fields can differ. */
export async function sameCredentials(db: Database, keys: KeyStore, connection: NewConnection): Promise<string[]> {
  const { companyId, kind, configuration } = connection;
  const required = kindNamed(kind).fields.filter(({ isOptional }) => !isOptional);
  const credentialsOf = (one: Configuration): string => JSON.stringify(required.map(({ name }) => one[name]?.trim()));
  const wanted = credentialsOf(configuration.reveal());
  const same: string[] = [];
  for (const row of await findConnectionsOf(db, companyId, kind)) {
    const stored = configurationOf(row, await openCredential(keys, row));
    if (credentialsOf(stored) === wanted) same.push(row.id);
  }
  return same;
}

async function openCredential(keys: KeyStore, { companyId, id, firstUrl, credential }: ConnectionRow): Promise<string> {
  const part = firstUrl === null ? id : firstPart;
  return open(await keys.ring('live', credential.keyVersion), companyId, part, credential);
}

/** Opens an adapter that is not stored; throws a `ConfigurationProblem` if a field is wrong. */
export function openAdapter(
  { kind, configuration, timeoutMs }: Pick<NewConnection, 'kind' | 'configuration' | 'timeoutMs'>,
  extraOrigins: readonly string[],
): Processor {
  const described = kindNamed(kind);
  const checked = checkConfiguration(described, configuration.reveal());
  return described.open(checked, { timeoutMs, extraOrigins });
}

/** Stores the credentials of a connection; throws a `ConfigurationProblem` if a field is wrong. */
export async function storeConnection(
  db: Database,
  keys: KeyStore,
  extraOrigins: readonly string[],
  connection: NewConnection,
): Promise<void> {
  openAdapter(connection, extraOrigins);
  const { companyId, id, kind, configuration, timeoutMs } = connection;
  const checked = checkConfiguration(kindNamed(kind), configuration.reveal());
  const credential = seal(await keys.ring('live'), companyId, id, JSON.stringify(checked));
  await saveConnection(db, { companyId, id, kind, timeoutMs, firstUrl: null, credential });
}

/** Runs when the keys of the vault are rotated, together with the cards. */
export async function rewrapConnections(db: Database, keys: KeyStore): Promise<number> {
  const ring = await keys.ring('live');
  const connections = await findConnectionsToRewrap(db, ring.current);
  for (const connection of connections) {
    const { companyId, id, firstUrl } = connection;
    const credential = rewrap(ring, companyId, firstUrl === null ? id : firstPart, connection.credential);
    await saveConnection(db, { ...connection, credential });
  }
  return connections.length;
}
