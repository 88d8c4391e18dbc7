import { chmodSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { openServer, ownFolder, type Server } from './servers.ts';

/** An etcd cluster, in which Patroni elects the primaries. */

export interface Etcd {
  /** `host:port` of each member. */
  readonly hosts: readonly string[];
  readonly members: readonly Server[];
  leader(): Promise<Server>;
}

interface EtcdPlace {
  readonly folder: string;
  readonly address: string;
  /** Of each member: for clients and for the other members. */
  readonly ports: readonly (readonly [client: number, peer: number])[];
  cleanUp(step: () => unknown): void;
}

export async function startEtcd({ folder, address, ports, cleanUp }: EtcdPlace): Promise<Etcd> {
  // The account of the servers needs access to the folder.
  chmodSync(folder, 0o711);
  const urlOf = (port: number): string => `http://${address}:${port}`;
  const members = ports.map(([client, peer], index) => {
    const name = `etcd${index + 1}`;
    const options = {
      'data-dir': ownFolder(folder, name),
      name,
      'listen-client-urls': urlOf(client),
      'advertise-client-urls': urlOf(client),
      'listen-peer-urls': urlOf(peer),
      'initial-advertise-peer-urls': urlOf(peer),
      // Patroni uses it: see docs/scaling.md.
      'enable-v2': 'true',
      'initial-cluster': ports.map(([, one], place) => `etcd${place + 1}=${urlOf(one)}`).join(),
    };
    const args = Object.entries(options).map(([option, value]) => `--${option}=${value}`);
    const member = openServer({ name, program: 'etcd', args, folder });
    cleanUp(() => member.kill());
    member.start();
    return member;
  });

  async function leader(): Promise<Server> {
    for (const [index, [client]] of ports.entries()) {
      const response = await fetch(`${urlOf(client)}/v3/maintenance/status`, {
        method: 'POST',
        body: '{}',
        signal: AbortSignal.timeout(2_000),
      }).catch(() => undefined);
      if (!response?.ok) continue;
      const { leader: id, header } = (await response.json()) as { leader?: string; header: { member_id: string } };
      const member = members[index];
      if (id !== undefined && id === header.member_id && member) return member;
    }
    throw new Error('etcd has no leader.');
  }

  const deadlineMs = performance.now() + 30_000;
  while (!(await leader().catch(() => undefined))) {
    if (performance.now() > deadlineMs) throw new Error('etcd elects no leader.');
    await sleep(200);
  }
  return { hosts: ports.map(([client]) => `${address}:${client}`), members, leader };
}
