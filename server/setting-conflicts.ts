import type { Secret } from './platform/secret.ts';
import type { ShardUrls } from './shards/settings.ts';

/** Settings that are valid alone and wrong together. */

const secretLengthMin = 32;

type Given = Secret<string> | undefined;

interface Settings {
  readonly SVC_ROLES: readonly string[];
  readonly DATABASE_URL: Given;
  readonly SVC_READ_URL: Given;
  readonly SVC_POOL_URL: Given;
  readonly SVC_SHARDS: ShardUrls;
  readonly SVC_READ_SHARDS: ShardUrls;
  readonly SVC_POOL_SHARDS: ShardUrls;
  readonly SVC_VAULT_SHARDS: ShardUrls;
  readonly SVC_VAULT_DATABASE_URL: Given;
  readonly SVC_VAULT_URL: readonly string[];
  readonly SVC_VAULT_TOKEN: Given;
  readonly SVC_VAULT_TOKEN_PREVIOUS: Given;
  readonly SVC_MASTER_SECRET: Given;
  readonly SVC_MASTER_SECRET_PREVIOUS: Given;
  readonly SVC_RATE_LIMIT_STORE: string | undefined;
  readonly REDIS_URL: Given;
  readonly SVC_REDIS_SENTINELS: readonly unknown[];
  readonly S3_ENDPOINT: string | undefined;
  readonly S3_BUCKET: string | undefined;
  readonly S3_ACCESS_KEY_ID: string | undefined;
  readonly S3_SECRET_ACCESS_KEY: Given;
}

type Rule = readonly [isBroken: boolean, problem: string];

export function conflicts(config: Settings): string[] {
  const rules = [...ofParts(config), ...ofVault(config), ...ofDatabases(config), ...ofSecrets(config)];
  return rules.flatMap(([isBroken, problem]) => (isBroken ? [problem] : []));
}

const ofParts = (config: Settings): Rule[] => [
  [config.SVC_RATE_LIMIT_STORE === 'redis' && !config.REDIS_URL, 'SVC_RATE_LIMIT_STORE=redis needs REDIS_URL.'],
  [
    config.SVC_REDIS_SENTINELS.length > 0 && !config.REDIS_URL,
    'SVC_REDIS_SENTINELS needs REDIS_URL, whose host is the name of the primary, for example redis://svc-limits.',
  ],
  [
    config.S3_ENDPOINT !== undefined && !(config.S3_BUCKET && config.S3_ACCESS_KEY_ID && config.S3_SECRET_ACCESS_KEY),
    'S3_ENDPOINT needs S3_BUCKET, S3_ACCESS_KEY_ID and S3_SECRET_ACCESS_KEY.',
  ],
  [config.S3_BUCKET !== undefined && !config.S3_ENDPOINT, 'S3_BUCKET needs S3_ENDPOINT.'],
];

const isVaultAlone = ({ SVC_ROLES: roles }: Settings): boolean => roles.every((role) => role === 'vault');

const ofVault = (config: Settings): Rule[] => [
  [
    !config.SVC_ROLES.includes('vault') && !(config.SVC_VAULT_URL.length > 0 && config.SVC_VAULT_TOKEN),
    'SVC_ROLES without vault needs SVC_VAULT_URL and SVC_VAULT_TOKEN.',
  ],
  [
    isVaultAlone(config) && !config.SVC_VAULT_TOKEN,
    'SVC_ROLES=vault needs SVC_VAULT_TOKEN, so that other processes can call the vault.',
  ],
  [
    config.SVC_VAULT_DATABASE_URL !== undefined && !config.DATABASE_URL && !isVaultAlone(config),
    'SVC_VAULT_DATABASE_URL needs DATABASE_URL, unless SVC_ROLES is only vault.',
  ],
];

function ofDatabases(config: Settings): Rule[] {
  const unknownOf = (named: ShardUrls): string[] => [...named.keys()].filter((name) => !config.SVC_SHARDS.has(name));
  const missing = [...config.SVC_SHARDS.keys()].filter((name) => !config.SVC_VAULT_SHARDS.has(name));
  const usesVaultShards =
    config.SVC_VAULT_SHARDS.size > 0 && config.SVC_ROLES.includes('vault') && !isVaultAlone(config);
  return [
    [
      config.SVC_SHARDS.size > 0 && !config.DATABASE_URL,
      'SVC_SHARDS needs DATABASE_URL. The embedded PostgreSQL is always the only shard.',
    ],
    ...(['SVC_READ_URL', 'SVC_POOL_URL'] as const).map(
      (name): Rule => [config[name] !== undefined && !config.DATABASE_URL, `${name} needs DATABASE_URL.`],
    ),
    ...(['SVC_READ_SHARDS', 'SVC_POOL_SHARDS'] as const).map((name): Rule => {
      const unknown = unknownOf(config[name]);
      return [unknown.length > 0, `${name} names ${unknown.join(', ')}, which SVC_SHARDS lacks.`];
    }),
    [usesVaultShards && missing.length > 0, `SVC_VAULT_SHARDS lacks ${missing.join(', ')}, which SVC_SHARDS has.`],
  ];
}

function ofSecrets(config: Settings): Rule[] {
  const long = [
    'SVC_MASTER_SECRET',
    'SVC_MASTER_SECRET_PREVIOUS',
    'SVC_VAULT_TOKEN',
    'SVC_VAULT_TOKEN_PREVIOUS',
  ] as const;
  return [
    ...long.map((name): Rule => {
      const length = config[name]?.reveal().length ?? secretLengthMin;
      return [length < secretLengthMin, `${name} must have at least ${secretLengthMin} characters.`];
    }),
    [
      config.SVC_MASTER_SECRET_PREVIOUS !== undefined && !config.SVC_MASTER_SECRET,
      'SVC_MASTER_SECRET_PREVIOUS needs SVC_MASTER_SECRET.',
    ],
    [
      config.SVC_VAULT_TOKEN_PREVIOUS !== undefined && !config.SVC_VAULT_TOKEN,
      'SVC_VAULT_TOKEN_PREVIOUS needs SVC_VAULT_TOKEN.',
    ],
  ];
}
