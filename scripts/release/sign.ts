import { spawnSync } from 'node:child_process';
import { rmSync } from 'node:fs';
import { ReleaseProblem } from '../record-release.ts';

/** What the signature is for: a signature for another purpose, made with the same key, is not accepted. */
export const signatureNamespace = 'svc-release';

/** Signs the checksums with an SSH key into `SHA256SUMS.sig`. docs/self-hosting.md explains how to verify it. */
export function signSums(sums: string, key: string): void {
  rmSync(`${sums}.sig`, { force: true });
  const parameters = ['-Y', 'sign', '-q', '-f', key, '-n', signatureNamespace, sums];
  const { error, status, stderr } = spawnSync('ssh-keygen', parameters, { encoding: 'utf8' });
  if (error) throw new ReleaseProblem('The checksums are not signed: ssh-keygen of OpenSSH is not installed.');
  if (status !== 0) throw new ReleaseProblem(`The checksums are not signed: ${stderr.trim()}`);
}
