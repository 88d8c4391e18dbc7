import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';

const folder = mkdtempSync(join(tmpdir(), 'svc-runner-'));
after(() => rmSync(folder, { recursive: true, force: true }));

function testFile(name: string, body: string): string {
  const path = join(folder, `${name}.test.mjs`);
  writeFileSync(
    path,
    `import { existsSync, writeFileSync } from 'node:fs';\nimport { test } from 'node:test';\ntest('${name}', () => { ${body} });\n`,
  );
  return path;
}

const passing = testFile('passing', '');
const failing = testFile('failing', `throw new Error('always');`);
/** Fails the first time it runs, and passes from then on. */
function flaky(name: string, body = ''): string {
  const marker = JSON.stringify(join(folder, `${name}.ran`));
  return testFile(
    name,
    `${body}if (!existsSync(${marker})) { writeFileSync(${marker}, ''); throw new Error('once'); }`,
  );
}

/** In a process of its own: a run inside of a test runs nothing. */
function rerunning(...files: string[]): { status: number | null; report: string } {
  return running(files, '{ rerunFailed: true }');
}

function running(files: readonly string[], options: string): { status: number | null; report: string } {
  const { NODE_TEST_CONTEXT: _, ...env } = process.env;
  const program = `
    import { runTestFiles } from ${JSON.stringify(import.meta.resolve('./support/runner.ts'))};
    const passed = await runTestFiles(${JSON.stringify(files)}, ${JSON.stringify(folder)}, ${options});
    process.exit(passed ? 0 : 1);`;
  const path = join(folder, 'run.mjs');
  writeFileSync(path, program);
  const { status, stdout } = spawnSync(process.execPath, [path], { env, encoding: 'utf8' });
  return { status, report: stdout };
}

describe('the test runner with --rerun-failed', () => {
  it('passes and names a file as flaky that failed and passed when run again', () => {
    const { status, report } = rerunning(passing, flaky('first'));
    assert.equal(status, 0, report);
    assert.match(report, /FLAKY: .*\n=+\n {2}\S*first\.test\.mjs\n {4}first\n$/);
  });

  it('fails and names a file that failed twice, and does not run a file again that passed', () => {
    const { status, report } = rerunning(passing, failing, flaky('second'));
    assert.equal(status, 1, report);
    assert.match(report, /FLAKY: .*\n=+\n {2}\S*second\.test\.mjs\n/);
    assert.match(report, /FAILED twice\n=+\n {2}\S*failing\.test\.mjs\n {4}failing\n$/);
    assert.equal(report.match(/✔ passing/g)?.length, 1);
  });

  it('fails if more than three files are flaky, and names them', () => {
    const names = ['one', 'two', 'three'];
    const three = rerunning(...names.map((name) => flaky(name)));
    assert.equal(three.status, 0, three.report);
    const four = rerunning(...[...names, 'four'].map((name) => flaky(`${name}-again`)));
    assert.equal(four.status, 1, four.report);
    const listed = /FLAKY: .* More than 3 fail the run\n=+\n([^]*)$/.exec(four.report)?.[1];
    assert.equal(listed?.match(/-again\.test\.mjs$/gm)?.length, 4, four.report);
  });
});

describe('the test runner', () => {
  const beside = (...files: string[]) => running(files, `{ waiting: new Set(${JSON.stringify(files.slice(1))}) }`);

  it('runs files that wait beside the others, and counts all of them together', () => {
    const { status, report } = beside(passing, testFile('waiting', ''));
    assert.equal(status, 0, report);
    assert.deepEqual(report.match(/(?:tests|pass|fail) \d+/g), ['tests 2', 'pass 2', 'fail 0']);
  });

  it('names two shards to the files that want them, also when they run again', () => {
    const body = `if (process.env.SVC_TEST_SHARDS !== '2') throw new Error('one shard');`;
    const files = [passing, testFile('two-shards', body), testFile('one-shard', body.replace('!==', '==='))];
    const options = (...ones: string[]) => `{ rerunFailed: true, onTwoShards: new Set(${JSON.stringify(ones)}) }`;
    const right = running(files, options(files[1] ?? ''));
    assert.equal(right.status, 0, right.report);
    const wrong = running(files, options(files[2] ?? ''));
    assert.match(wrong.report, /FAILED twice\n=+\n {2}\S*one-shard\S*\n.*\n {2}\S*two-shards\S*\n/);
    const again = running([flaky('on-two', body)], options(join(folder, 'on-two.test.mjs')));
    assert.equal(again.status, 0, again.report);
    assert.match(again.report, /FLAKY/);
  });

  it('fails if a file that waits fails', () => {
    const { status, report } = beside(passing, failing);
    assert.equal(status, 1, report);
    assert.match(report, /FAILED\n=+\n {2}\S*failing\.test\.mjs\n {4}failing\n$/);
    assert.deepEqual(report.match(/(?:tests|pass|fail) \d+/g), ['tests 2', 'pass 1', 'fail 1']);
  });

  it('ends with the failed tests, each with the suites around it', () => {
    const path = join(folder, 'nested.test.mjs');
    const failure = `() => { throw new Error('always'); }`;
    writeFileSync(
      path,
      `import { before, describe, it } from 'node:test';
      describe('outer', () => {
        it('passes', () => {});
        describe('inner', () => { it('passes', () => {}); it('fails', ${failure}); it('fails, too', ${failure}); });
        it('fails alone', ${failure});
        describe('unprepared', () => { before(${failure}); it('is not run', () => {}); });
      });`,
    );
    const { status, report } = running([passing, path], '{}');
    assert.equal(status, 1, report);
    const [, listed = ''] = report.split(/FAILED\n=+\n/);
    assert.deepEqual(
      listed
        .trimEnd()
        .split('\n')
        .slice(1)
        .map((line) => line.trim()),
      [
        'outer › inner › fails',
        'outer › inner › fails, too',
        'outer › fails alone',
        'outer › unprepared › is not run',
        'outer › unprepared',
      ],
    );
  });

  it('fails if a test causes an error that it does not catch', () => {
    for (const cause of [
      `Promise.reject(new Error('of no test'))`,
      `setTimeout(() => { throw new Error('of no test'); })`,
    ]) {
      const file = testFile('careless', `${cause}; return new Promise((done) => setTimeout(done, 50));`);
      const { status, report } = running([passing, file], '{}');
      assert.equal(status, 1, report);
      assert.match(report, /of no test/);
      assert.match(report, /FAILED\n=+\n(?: {2}\S*\n)* {2}\S*careless\.test\.mjs\n/);
    }
  });
});
