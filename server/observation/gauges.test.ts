import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { shardedVault } from '../vault/sharded.ts';
import type { Vault, VaultHealth } from '../vault/vault.ts';
import { type GaugeSources, readGauges } from './gauges.ts';

const never = new Promise<never>(() => undefined);

describe('a shard that hangs', () => {
  it('does not hold back the metrics of the process for longer than a scrape waits', async () => {
    const standby = { state: async () => undefined };
    const sources = {
      roles: ['api'],
      pools: [],
      components: { used: async () => undefined, states: () => new Map() },
      serving: {
        shards: [
          { name: 'a', db: { query: async () => [] }, standby, isUsed: () => true, isUp: async () => true },
          { name: 'b', db: { query: () => never }, standby, isUsed: () => true, isUp: async () => false },
          {
            name: 'c',
            db: { query: () => assert.fail('it rests') },
            standby,
            isUsed: () => false,
            isUp: async () => true,
          },
        ],
        clocks: { skews: () => ({ databaseMs: 0, vaultMs: undefined }) },
        restores: { isRestored: () => false, waiting: () => ({}) },
        connections: { broken: () => [] },
        sendsMail: false,
        backupPath: undefined,
      },
    } as unknown as GaugeSources;
    const startedMs = performance.now();
    const samples = await readGauges(sources);
    assert.ok(performance.now() - startedMs < 8_000);
    const up = samples.filter(({ name }) => name === 'svc_shard_up').map(({ labels, value }) => ({ ...labels, value }));
    assert.deepEqual(up, [
      { shard: 'a', value: 1 },
      { shard: 'b', value: 0 },
      { shard: 'c', value: 1 },
    ]);
  });

  it('does not keep the vault from saying that it is there, with what its processors answer', async () => {
    const vaultWith = (health: () => Promise<VaultHealth>): Vault => ({ health }) as Vault;
    const well = vaultWith(async () => ({ problem: undefined, processorProblem: 'a processor does not answer' }));
    const away = vaultWith(async () => ({ problem: 'the vault cannot use its database', processorProblem: undefined }));
    const hanging = vaultWith(() => never);
    const healthOf = (...vaults: Vault[]): Promise<VaultHealth> =>
      shardedVault(
        async () => well,
        () => vaults,
      ).health();
    assert.deepEqual(await healthOf(hanging, well), {
      problem: undefined,
      processorProblem: 'a processor does not answer',
    });
    assert.equal((await healthOf(away, well)).problem, undefined);
    assert.equal((await healthOf(away, away)).problem, 'the vault cannot use its database');
  });
});
