import assert from 'node:assert/strict';
import { globSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, relative } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { outdatedPages } from '../scripts/reference.ts';
import { words } from '../dashboard/src/format.ts';
import { limits } from '../server/limits.ts';
import { ownCommandIn } from '../server/platform/own-command.ts';
import { recordedTables } from './support/schema.ts';

/** Rules worth stating, checked on every source file. */

const root = fileURLToPath(new URL('..', import.meta.url));

function filesOf(...patterns: string[]): string[] {
  const exclude = (path: string): boolean => /(^|\/)(node_modules|\.svc|\.git|dist)$/.test(path);
  return globSync(patterns, { cwd: root, exclude }).toSorted();
}

const read = (file: string): string => readFileSync(join(root, file), 'utf8');
const sources = filesOf('**/*.ts', '**/*.tsx').filter((file) => !file.endsWith('.d.ts'));
const production = sources.filter((file) => file.startsWith('server/') && !file.endsWith('.test.ts'));
const simulators = sources.filter((file) => file.startsWith('simulators/'));

function offenders(files: readonly string[], pattern: RegExp): string[] {
  return files.flatMap((file) =>
    read(file)
      .split('\n')
      .flatMap((line, index) => (pattern.test(line) ? [`${file}:${index + 1}: ${line.trim()}`] : [])),
  );
}

function importsOf(file: string): string[] {
  return [...read(file).matchAll(/\b(?:from |import\()'(\.[^']+)'/g)].map(([, path]) =>
    relative(root, join(root, dirname(file), path ?? '')),
  );
}

const featureOf = (file: string): string | undefined => /^server\/features\/([^/]+)\//.exec(file)?.[1];

const queriesFile = /[/-]queries\.ts$/;

test('a feature uses another through its service and schemas; only SQL may build on the SQL of another', () => {
  const wrong = production
    .filter((file) => featureOf(file) !== undefined)
    .flatMap((file) =>
      importsOf(file)
        .filter((target) => featureOf(target) !== undefined && featureOf(target) !== featureOf(file))
        .filter((target) => !/\/(service|schemas)\.ts$/.test(target))
        .filter((target) => !(queriesFile.test(file) && queriesFile.test(target)))
        .map((target) => `${file} imports ${target}`),
    );
  assert.deepEqual(wrong, []);
});

test('no service hands out the SQL of its feature', () => {
  const services = production.filter((file) => featureOf(file) && /\/(service|jobs)\.ts$/.test(file));
  const wrong = services.filter((file) => {
    const text = read(file);
    const imported = [...text.matchAll(/^import \{([^}]*)\} from '\.\/[\w-]*queries\.ts'/gm)].flatMap(
      ([, names = '']) => names.split(',').map((name) => name.trim()),
    );
    const exported = [...text.matchAll(/^export \{([^}]*)\}( from '\.\/[\w-]*queries\.ts')?/gm)].flatMap(
      ([, names = '', from]) =>
        names
          .split(',')
          .map((name) => name.trim())
          .filter((name) => name && !name.startsWith('type ') && (from || imported.includes(name))),
    );
    return exported.length > 0;
  });
  assert.deepEqual(wrong, []);
});

test('IP addresses are read and compared in one module', () => {
  const allowed = ['server/platform/addresses.ts', 'server/platform/outbound/addresses.ts'];
  const others = production.filter((file) => !allowed.includes(file));
  assert.deepEqual(offenders(others, /\bipaddr\b|BlockList|SocketAddress/), []);
});

test('what handles HTTP knows no feature, and no feature knows a page', () => {
  const wrong = production.flatMap((file) =>
    importsOf(file)
      .filter(
        (target) =>
          (file.startsWith('server/http/') && /^server\/(features|pages|jobs)\//.test(target)) ||
          (file.startsWith('server/features/') && target.startsWith('server/pages/')),
      )
      .map((target) => `${file} imports ${target}`),
  );
  assert.deepEqual(wrong, []);
});

test('one function mounts the routes of all features; only pages and operator endpoints mount themselves', () => {
  const itself = /^server\/(http\/(mount|operations|cross-origin)|pages\/[\w-]+|vault\/.+)\.ts$/;
  const others = production.filter((file) => !itself.test(file));
  assert.deepEqual(offenders(others, /\b(app|scope)\.(route|get|post|put|patch|delete|options|all)\b[<(]/), []);
});

test('the platform knows nothing of the features or of HTTP', () => {
  const wrong = production
    .filter((file) => file.startsWith('server/platform/'))
    .flatMap((file) =>
      importsOf(file)
        .filter((target) => /^server\/(features|http|pages|jobs|vault)\//.test(target))
        .map((target) => `${file} imports ${target}`),
    );
  assert.deepEqual(wrong, []);
});

test('no production file imports a simulated processor or what only tests use', () => {
  const forTests = /\.test\.ts$|(^|\/)testing\.ts$|\/conformance(-[\w-]+)?\.ts$/;
  const shipped = sources.filter(
    (file) => /^(server|cli|pages|sdk\/\w+\/src|dashboard\/src)\//.test(file) && !forTests.test(file),
  );
  const wrong = shipped.flatMap((file) =>
    importsOf(file)
      .filter((target) => /^(simulators|tests)\//.test(target) || forTests.test(target))
      .map((target) => `${file} imports ${target}`),
  );
  assert.deepEqual(wrong, []);
});

test('the SQL of a feature is in its queries', () => {
  const elsewhere = production.filter((file) => featureOf(file) && !/[/-]queries\.ts$/.test(file));
  assert.deepEqual(offenders(elsewhere, /\b(SELECT .* FROM|INSERT INTO|DELETE FROM|UPDATE \w+ SET)\b/), []);
});

test('EXISTS looks up a row only in a condition that AND connects: PostgreSQL may hash the table otherwise', () => {
  const lookups = /(?<before>[\s\S]{0,12})\bEXISTS\s*\((?<query>(?:[^()]|\((?:[^()]|\([^()]*\))*\))*)\)/g;
  const found = production.flatMap((file) =>
    [...read(file).matchAll(lookups)]
      .filter(({ groups }) => /\b\w+\.\w+ = |\$\{/.test(groups?.query ?? ''))
      .filter(({ groups }) => !/\b(WHERE|AND)(\s+NOT)?\s+$/.test(groups?.before ?? ''))
      .map(([text]) => `${file}: ${text}`),
  );
  assert.deepEqual(found, []);
});

test('time is passed in', () => {
  const domain = [...production, ...simulators].filter((file) => !/^server\/(?!features|vault|jobs)/.test(file));
  assert.deepEqual(offenders(domain, /Date\.now\(\)|new Date\(\)/), []);
});

test('random values come from node:crypto, except the jitter of the platform', () => {
  const others = [...production, ...simulators].filter((file) => !file.startsWith('server/platform/'));
  assert.deepEqual(offenders(others, /Math\.random\(\)/), []);
});

test('the units of time are written once', () => {
  const others = sources
    .filter((file) => /^(server|simulators|cli|dashboard)\//.test(file) && !file.endsWith('.test.ts'))
    .filter((file) => file !== 'server/platform/durations.ts');
  assert.deepEqual(offenders(others, /\b(86_?400(_?000)?|3_?600_?000)\b|const (minute|hour|day)(Ms|Seconds) =/), []);
});

test('a duration has its unit in its name', () => {
  const durations = /\b(const|let) \w*(timeout|delays?|interval|patience|lease|grace|ttl|pause)\s*(: [^=]*)?= [\d[]/i;
  assert.deepEqual(offenders([...production, ...simulators], durations), []);
});

test('texts that name a limit say what limits.ts says', () => {
  const texts: readonly [file: string, text: string][] = [
    ['dashboard/src/texts/developers.ts', `Events of the last ${limits.eventRetentionDays} days.`],
  ];
  for (const [file, text] of texts) assert.ok(read(file).includes(text), `${file} does not say: ${text}`);
});

test('every key of a table begins with its company, except those by which a company is found', async () => {
  const finding = ['api_key_lookups', 'card_tokens', 'company_names', 'memberships', 'unreferenced_files'];
  const wrong = (await recordedTables()).flatMap(({ name, text }) => {
    if (!/^ {2}company_id /m.test(text) || finding.includes(name)) return [];
    const keys = text.matchAll(/(?:(?:PRIMARY KEY|UNIQUE) |UNIQUE INDEX .* USING btree )\((\w+)/g);
    return [...keys].filter(([, first]) => first !== 'company_id').map(([key]) => `${name}: ${key}`);
  });
  assert.deepEqual(wrong, []);
});

test('only the vault opens a card number', () => {
  const outside = sources.filter((file) => !file.startsWith('server/vault/') && file !== 'tests/tidy.test.ts');
  assert.deepEqual(offenders(outside, /CardNumber\.open|vault\/(keys|queries)\.ts'/), []);
  assert.deepEqual(
    offenders(
      production.filter((file) => !file.startsWith('server/vault/')),
      /vault\.cards/,
    ),
    [],
  );
});

test('every enum is made by the constructor that names its type', () => {
  const others = sources.filter((file) => file !== 'server/platform/choice.ts' && file !== 'tests/tidy.test.ts');
  assert.deepEqual(offenders(others, /\bType\.Enum\(/), []);
});

test('amounts are scaled by the decimals of their currency, never by 100', () => {
  const scaling = sources.filter(
    (file) => /^(server|simulators|dashboard|cli)\//.test(file) && !file.endsWith('.test.ts'),
  );
  assert.deepEqual(offenders(scaling, /(amount|total|price|cents|discount)\w*\)?\s*[*/]\s*100\b/i), []);
  const asNumbers = scaling.filter((file) => file.startsWith('dashboard/'));
  assert.deepEqual(offenders(asNumbers, /(Number|parseFloat)\([^)]*(amount|price|percentage|minimum)/i), []);
});

test('a form of the dashboard saves through useEditForm, which sends only what was changed', () => {
  const elsewhere = [
    'dashboard/src/api.ts',
    'dashboard/src/components/edit-form.tsx',
    // The methods of the request log.
    'dashboard/src/pages/developers/requests.tsx',
    // Makes a card the default, which is an action and not an edit.
    'dashboard/src/pages/customers/cards.tsx',
  ];
  const files = sources.filter((file) => file.startsWith('dashboard/src/') && !elsewhere.includes(file));
  assert.deepEqual(offenders(files, /\bPATCH\b/), []);
  // A switch or a menu entry sets one field, whose value is not in a form.
  assert.deepEqual(offenders(files, /changeField\([^)]*\bdraft\b/), []);
});

test('only what begins a test run changes the environment of its process, which test files share', () => {
  const beginning = [
    'run.ts',
    'generators/run.ts',
    'sdks/run.ts',
    'support/runner.ts',
    'support/test-pooler.ts',
    'support/test-program.ts',
    'support/test-server.ts',
  ];
  const allowed = [...beginning, 'support/bundled-programs.ts'].map((file) => `tests/${file}`);
  const files = sources.filter((file) => !file.startsWith('dashboard/') && !allowed.includes(file));
  assert.deepEqual(offenders(files, /process\.env(\.\w+|\[[^\]]+\]) *(\?\?|\|\|)?=[^=]|delete process\.env/), []);
});

test('no test adds a listener for the end of the process each time: test files share one', () => {
  const allowed = ['tests/support/kill-at-exit.ts', 'tests/chaos/chaos.ts', 'server/platform/log-output.test.ts'];
  const files = sources.filter((file) => /^tests\/|\.test\.ts$/.test(file) && !allowed.includes(file));
  assert.deepEqual(offenders(files, /process\.(on|once)\('exit'|createLog\([^,)]+\)/), []);
});

test('a source file has at most 400 lines, a test file at most 800', () => {
  const long = sources
    .map((file) => ({ file, lines: read(file).split('\n').length }))
    .filter(({ file, lines }) => lines > (file.endsWith('.test.ts') ? 800 : 400));
  assert.deepEqual(long, []);
});

test('file names are lower case with hyphens', () => {
  const wrong = sources.filter((file) => !/^[a-z0-9./_-]+$/.test(file) || /_/.test(file.replace('.d.ts', '')));
  assert.deepEqual(wrong, []);
});

test('nothing is left over: no skipped tests, loose types or reminders', () => {
  const leftovers =
    /\.only\(|\b(it|test|describe)\.(skip|todo)\(|@ts-ignore|@ts-expect-error|\bas any\b|\b(TODO|FIXME|XXX)\b/;
  assert.deepEqual(
    offenders(
      sources.filter((file) => file !== 'tests/tidy.test.ts'),
      leftovers,
    ),
    [],
  );
});

test('no message of a release names npm, which it does not need: own-command.ts knows how it is run', () => {
  const shipped = sources.filter((file) => /^(server|cli|pages|dashboard\/src)\//.test(file));
  const files = shipped.filter((file) => !file.endsWith('.test.ts') && file !== 'server/platform/own-command.ts');
  const isComment = (line: string): boolean => /^\S+ (\*|\/\*\*|\/\/)/.test(line);
  assert.deepEqual(
    offenders(files, /\bnpm\b/).filter((line) => !isComment(line)),
    [],
  );
});

test('a release calls itself svc, the sources are run with npm', () => {
  const folder = mkdtempSync(join(tmpdir(), 'svc-own-command-'));
  const url = pathToFileURL(`${folder}/`);
  assert.equal(ownCommandIn(url).start, 'npm start');
  mkdirSync(join(folder, 'bin'));
  writeFileSync(join(folder, 'bin/svc'), '');
  assert.equal(ownCommandIn(url).start, 'svc start');
  assert.doesNotMatch(Object.values(ownCommandIn(url)).join(), /npm/);
  rmSync(folder, { recursive: true });
});

test('pages use one word for one thing: CVC, sandbox, dispute, unconfirmed', () => {
  const texts = filesOf(
    'dashboard/src/texts/*.ts',
    'pages/*/texts.ts',
    'sdk/browser/src/texts.ts',
    'server/customer-texts/*.ts',
    'server/customer-texts/languages/en/*.ts',
    'examples/shop/server.ts',
  );
  const otherWord = /security code|\bcvv\b|test mode|chargeback|\bin[- ]doubt\b/i;
  // The codes of the API and the names of texts are not for people.
  const wrong = offenders(texts, otherWord).filter((line) => otherWord.test(line.replaceAll(/'[\w.]+'|\b\w+:/g, '')));
  assert.deepEqual(wrong, []);
  assert.deepEqual(['chargeback', 'incorrect_cvv', 'chargeback_dismissed'].map(words), [
    'Disputed',
    'Incorrect CVC',
    'Dispute won',
  ]);
});

test('comments, guides and test names use ordinary words', () => {
  const files = [...sources, ...filesOf('*.md', '{docs,bench,sdk,examples}/**/*.md')].filter(
    (file) => file !== 'tests/tidy.test.ts',
  );
  assert.deepEqual(offenders(files, /\b(anew|whatever|whoever|somebody|became of)\b/i), []);
});

test('the guide to the code names every file and folder directly in server/', () => {
  const layout = read('docs/code-layout.md');
  const entries = filesOf('server/*').map((path) => path.slice('server/'.length));
  const named = (name: string): boolean => layout.includes(`server/${name}`) || layout.includes(`\`${name}\``);
  const hidden = /^(node_modules|package\.json)$|\.test\.ts$/;
  assert.deepEqual(
    entries.filter((name) => !hidden.test(name) && !named(name)),
    [],
  );
});

test('every decision record is listed, has a date and a status, and counts no lines of code', () => {
  const records = filesOf('docs/decisions/0*.md');
  const list = read('docs/decisions/README.md');
  const status =
    /^Date: \d{4}-\d\d-\d\d(, extended \d{4}-\d\d-\d\d)?\. Status: (accepted|superseded by \[\d+\]\(.+\))[.,;]/m;
  const wrong = records.filter(
    (file) => !status.test(read(file)) || !list.includes(`](${file.slice('docs/decisions/'.length)})`),
  );
  assert.deepEqual(wrong, []);
  assert.deepEqual(offenders(records, /\b[\d,]+ lines\b/), []);
});

test('dependencies are pinned exactly', () => {
  const loose = filesOf('**/package.json').flatMap((file) => {
    const manifest = JSON.parse(read(file)) as Record<string, Record<string, string> | undefined>;
    return ['dependencies', 'devDependencies', 'optionalDependencies'].flatMap((group) =>
      Object.entries(manifest[group] ?? {})
        .filter(([, version]) => !/^\d+\.\d+\.\d+(-[\w.]+)?$/.test(version))
        .map(([name, version]) => `${file}: ${name} ${version}`),
    );
  });
  assert.deepEqual(loose, []);
});

test('the lockfiles name no registry', () => {
  assert.deepEqual(offenders(filesOf('**/package-lock.json'), /"resolved": "https?:/), []);
});

test('the reference pages in docs/ say what the source says', async () => {
  assert.deepEqual(await outdatedPages(), [], 'run: node scripts/reference.ts');
});
