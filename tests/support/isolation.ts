import { spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/**
 * Runs a shell script in a root of its own: the programs of the machine and the given folder are read-only, `/data` and `/tmp`
 * are writable, and the only network is loopback. With the rights of root, it runs as another user.
 */
export interface Isolation {
  readonly readOnly: string;
  /** The path of the read-only folder in the new root. */
  readonly at: string;
  readonly data: string;
  readonly script: string;
}

const otherUser = 12_345;
const isRoot = process.getuid?.() === 0;
const namespaces = [...(isRoot ? [] : ['--map-root-user']), '--net', '--mount'];

/** What this machine lacks for an isolated run, if anything. */
export function missingForIsolation(): string | false {
  const { status } = spawnSync('unshare', [...namespaces, 'ip', 'link', 'set', 'lo', 'up']);
  return status === 0 ? false : 'unshare with a network and a mount namespace is not permitted';
}

const prepare = `
set -eu
cd "$ROOT"
mount -t tmpfs tmpfs .
cd "$ROOT"
mkdir -p usr proc dev etc tmp data node ".$AT"
mount --rbind /usr usr && mount -o remount,bind,ro usr
for name in bin sbin lib lib64; do [ -L "/$name" ] && ln -s "$(readlink "/$name")" "$name" || mkdir -p "$name"; done
for name in bin sbin lib lib64; do [ -L "$name" ] || [ ! -d "/$name" ] || mount --rbind "/$name" "$name"; done
mount --rbind /proc proc
mount --rbind /dev dev
mount -t tmpfs tmpfs tmp && chmod 1777 tmp
mount --bind "$DATA" data
mount --bind "$READ_ONLY" ".$AT" && mount -o remount,bind,ro ".$AT"
touch node/node && mount --bind "$NODE" node/node
echo "svc:x:$OTHER_USER:$OTHER_USER::/data:/bin/sh" > etc/passwd
ip link set lo up
mount -o remount,ro .
[ "$IS_ROOT" = 1 ] && as="setpriv --reuid=$OTHER_USER --regid=$OTHER_USER --clear-groups --no-new-privs" || as=
exec chroot . /usr/bin/env -i PATH=/usr/bin:/bin HOME=/data SVC_NODE=/node/node $as /bin/sh -c "$SCRIPT"
`;

export async function runIsolated({
  readOnly,
  at,
  data,
  script,
}: Isolation): Promise<{ code: number; stdout: string; stderr: string }> {
  const folder = mkdtempSync(join(tmpdir(), 'svc-root-'));
  const environment = { ROOT: folder, READ_ONLY: readOnly, AT: at, DATA: data, NODE: process.execPath, SCRIPT: script };
  const child = spawn('unshare', [...namespaces, '--propagation', 'private', 'sh', '-c', prepare], {
    env: { PATH: process.env.PATH, OTHER_USER: String(otherUser), IS_ROOT: isRoot ? '1' : '0', ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const output = { stdout: '', stderr: '' };
  for (const name of ['stdout', 'stderr'] as const) {
    child[name].setEncoding('utf8').on('data', (chunk: string) => {
      output[name] += chunk;
    });
  }
  const code = await new Promise<number>((resolve) => child.on('close', (status) => resolve(status ?? 1)));
  rmSync(folder, { recursive: true, force: true });
  return { code, ...output };
}

/** The user of an isolated run must own the folder that it writes to. */
export const isolatedUser = isRoot ? otherUser : 0;
