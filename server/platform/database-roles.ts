import pg from 'pg';
import { deriveKey, type Secret } from './secret.ts';

/**
 * On the embedded server the API and the vault log in with separate roles, so that no query of the API can read a
 * card. The connection of the owner is used only for migrations.
 */
export async function openRoles(
  ownerUrl: string,
  masterSecret: Secret<Buffer>,
): Promise<{ apiUrl: string; vaultUrl: string }> {
  const client = new pg.Client({ connectionString: ownerUrl, connectionTimeoutMillis: 10_000 });
  client.on('error', () => undefined);
  await client.connect();
  try {
    return {
      apiUrl: await openRole(client, ownerUrl, 'svc_api', deriveKey(masterSecret, 'database-role-api')),
      vaultUrl: await openRole(client, ownerUrl, 'svc_vault', deriveKey(masterSecret, 'database-role-vault')),
    };
  } finally {
    await client.end();
  }
}

async function openRole(client: pg.Client, ownerUrl: string, role: string, key: Buffer): Promise<string> {
  const password = key.toString('hex');
  await client.query(`ALTER ROLE ${role} LOGIN PASSWORD '${password}'`);
  const url = new URL(ownerUrl);
  url.username = role;
  url.password = password;
  return url.href;
}
