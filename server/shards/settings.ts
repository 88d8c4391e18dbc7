import { ConfigurationError } from '../platform/configuration-error.ts';
import { Secret } from '../platform/secret.ts';
import { firstShard } from './shards.ts';

/** The URL of each further shard, by name. */
export type ShardUrls = ReadonlyMap<string, Secret<string>>;

const form =
  'must be names and PostgreSQL URLs, for example "b=postgres://host-b/svc c=postgres://host-c/svc"; a name has lower-case letters, digits and dashes';

/** Reads `b=postgres://… c=postgres://…`. */
export function parseShards(value: string): ShardUrls {
  const shards = new Map<string, Secret<string>>();
  for (const entry of value.split(/\s+/).filter(Boolean)) {
    const [, name = '', url = ''] = /^([a-z][a-z0-9-]{0,30})=(postgres(?:ql)?:\/\/\S+)$/.exec(entry) ?? [];
    if (!URL.canParse(url)) throw new ConfigurationError(form);
    if (name === firstShard)
      throw new ConfigurationError(`must not name the shard "${firstShard}", which is the server of DATABASE_URL`);
    if (shards.has(name)) throw new ConfigurationError(`names the shard "${name}" twice`);
    shards.set(name, new Secret(url));
  }
  return shards;
}
