import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { datesOf, readChangelog, readReleases, recordProblem, releaseProblem } from '../scripts/record-release.ts';
import { signatureNamespace, signSums } from '../scripts/release/sign.ts';
import { version } from '../server/version.ts';

/** A release is a commit that server/releases.json names, with the day that the changelog has. */

const root = fileURLToPath(new URL('..', import.meta.url));
const releases = await readReleases();
const folder = mkdtempSync(join(tmpdir(), 'svc-signing-'));
after(() => rmSync(folder, { recursive: true, force: true }));

describe('server/releases.json', () => {
  it('names each dated version of the changelog, with its day and a commit that exists', () => {
    const dates = [...datesOf(readChangelog())].toReversed();
    const dated = dates.filter(([, date]) => date !== 'unreleased');
    assert.deepEqual(
      dated,
      Object.entries(releases).map(([name, { date }]) => [name, date]),
    );
    for (const [name, { commit }] of Object.entries(releases)) {
      assert.match(commit, /^[0-9a-f]{40}$/, name);
      // A copy without git, or with the last commits only, cannot look.
      if (!existsSync(join(root, '.git')) || existsSync(join(root, '.git/shallow'))) continue;
      assert.equal(spawnSync('git', ['cat-file', '-e', `${commit}^{commit}`], { cwd: root }).status, 0, name);
    }
    // Only the version that is being worked on can be undated.
    for (const [name] of dates.filter(([, date]) => date === 'unreleased')) assert.equal(name, version);
  });

  it('is what guides check out, because there are no tags', () => {
    for (const file of ['docs/upgrading.md', 'docs/self-hosting.md', 'README.md', 'SECURITY.md']) {
      const text = readFileSync(join(root, file), 'utf8');
      assert.doesNotMatch(text, /git checkout v\d|tags?\/v\d/, file);
    }
    const command = /git checkout "\$\((.+)\)"/.exec(readFileSync(join(root, 'docs/upgrading.md'), 'utf8'))?.[1] ?? '';
    // Not every checkout has a repository that it came from.
    const here = command.replace('git show origin/HEAD:server/releases.json', 'cat server/releases.json');
    assert.notEqual(here, command);
    const printed = execFileSync('sh', ['-c', here], { cwd: root, encoding: 'utf8' }).trim();
    assert.equal(printed, Object.values(releases).at(-1)?.commit);
  });
});

describe('npm run release', () => {
  const known = { '0.1.0': { date: '2026-11-16', commit: 'a'.repeat(40), migrations: {} } };
  const changelog = '## [0.3.0] - 2026-12-01\n## [0.2.0] - unreleased\n## [0.1.0] - 2026-11-16\n';

  it('builds only a version that is dated and recorded, and says in one line what is missing', () => {
    assert.equal(releaseProblem('0.1.0', known, changelog), undefined);
    const problems = {
      '0.2.0': /^0\.2\.0 has no date in CHANGELOG\.md.*--preview$/,
      '0.4.0': /^0\.4\.0 has no date/,
      '0.3.0': /^0\.3\.0 is not in server\/releases\.json.*--record 0\.3\.0$/,
    };
    for (const [name, line] of Object.entries(problems))
      assert.match(releaseProblem(name, known, changelog) ?? '', line);
    const moved = changelog.replace('2026-11-16', '2026-11-17');
    assert.match(releaseProblem('0.1.0', known, moved) ?? '', /2026-11-17 in CHANGELOG\.md, and 2026-11-16/);
  });

  it('records only a dated version, once, without open changes', () => {
    assert.equal(recordProblem('0.3.0', known, changelog, ''), undefined);
    assert.match(recordProblem('0.3.0', known, changelog, ' M README.md') ?? '', /^Commit your changes first/);
    assert.match(recordProblem('0.2.0', known, changelog, '') ?? '', /## \[0\.2\.0\] - YYYY-MM-DD$/);
    assert.match(recordProblem('0.1.0', known, changelog, '') ?? '', /released already/);
    assert.match(recordProblem('v1', known, changelog, '') ?? '', /^Pass a version/);
  });

  const noKeygen = spawnSync('ssh-keygen', ['-?']).error ? 'ssh-keygen is not installed' : false;
  it('signs the checksums so that the documented command verifies them, and no others', { skip: noKeygen }, () => {
    const key = join(folder, 'key');
    execFileSync('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-C', '', '-f', key]);
    const sums = join(folder, 'SHA256SUMS');
    writeFileSync(sums, `${'0'.repeat(64)}  svc.tar.gz\n`);
    signSums(sums, key);
    signSums(sums, key);
    const guide = readFileSync(join(root, 'docs/self-hosting.md'), 'utf8');
    const [, signers = '', command = ''] = /^(echo "svc-release .*)\n(ssh-keygen -Y verify.*)$/m.exec(guide) ?? [];
    assert.ok(command.includes(`-n ${signatureNamespace} `));
    const publicKey = readFileSync(`${key}.pub`, 'utf8').trim();
    const verify = (): number | null =>
      spawnSync('sh', ['-ec', `${signers.replace('ssh-ed25519 AAAA…', publicKey)}\n${command}`], { cwd: folder })
        .status;
    assert.equal(verify(), 0);
    writeFileSync(sums, `${'1'.repeat(64)}  svc.tar.gz\n`);
    assert.notEqual(verify(), 0);
    assert.throws(() => signSums(sums, join(folder, 'none')), /The checksums are not signed: /);
  });
});
