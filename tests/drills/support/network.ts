import { spawnSync } from 'node:child_process';
import type { DrillStage } from '../drill.ts';
import { findProgram } from './programs.ts';

/** Machines of a drill in network namespaces of their own, at one switch, from which each can be unplugged. */

export interface Place {
  readonly address: string;
  /** Undefined: the network of the drill itself. */
  readonly namespace?: string;
}

export interface Network {
  /** Where the drill itself is reached by the machines. */
  readonly here: Place;
  place(machine: string): Place;
  /** Nothing reaches the machine, and the machine reaches nothing. No connection is closed. Undefined: not possible here. */
  readonly cut?: (machine: string) => void;
  readonly join?: (machine: string) => void;
}

const loopback: Place = { address: '127.0.0.1' };

function ip(...args: readonly string[]): void {
  const { status, stderr, error } = spawnSync(findProgram('ip') ?? 'ip', args, { encoding: 'utf8' });
  if (status !== 0) throw new Error(`ip ${args.join(' ')}: ${error?.message ?? stderr.trim()}`);
}

/** Without the rights for namespaces, everything is on the loopback address, and nothing can be cut. */
export function openNetwork({ note, cleanUp }: DrillStage, machines: readonly string[]): Network {
  // The range for measurements of networks, which no network uses; the names have at most 15 characters.
  const id = process.pid % 10_000;
  const subnet = `198.18.${id % 250}`;
  const bridge = `drill${id}`;
  const nameOf = (machine: string): string => `${bridge}-${machine}`;
  const addressOf = (machine: string): string => `${subnet}.${machines.indexOf(machine) + 2}`;
  try {
    ip('link', 'add', bridge, 'type', 'bridge');
    cleanUp(() => ip('link', 'delete', bridge));
    ip('address', 'add', `${subnet}.1/24`, 'dev', bridge);
    ip('link', 'set', bridge, 'up');
    for (const machine of machines) {
      const name = nameOf(machine);
      ip('netns', 'add', name);
      // The cable goes with its namespace.
      cleanUp(() => ip('netns', 'delete', name));
      ip('link', 'add', name, 'type', 'veth', 'peer', 'name', 'eth0', 'netns', name);
      ip('link', 'set', name, 'master', bridge, 'up');
      for (const device of ['lo', 'eth0']) ip('-netns', name, 'link', 'set', device, 'up');
      ip('-netns', name, 'address', 'add', `${addressOf(machine)}/24`, 'dev', 'eth0');
    }
  } catch (error) {
    note(`no network namespaces here, so the network is not cut: ${(error as Error).message}`);
    return { here: loopback, place: () => loopback };
  }
  return {
    here: { address: `${subnet}.1` },
    place: (machine) => ({ address: addressOf(machine), namespace: nameOf(machine) }),
    cut: (machine) => ip('link', 'set', nameOf(machine), 'nomaster'),
    join: (machine) => ip('link', 'set', nameOf(machine), 'master', bridge),
  };
}
