import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { type Browser, chromium } from 'playwright-core';

/** A real Chromium from the npm registry, unpacked once and shared by all tests that need a browser. */

const run = promisify(execFile);
const modules = fileURLToPath(new URL('../../node_modules/', import.meta.url));

export async function launchBrowser(...more: readonly string[]): Promise<Browser> {
  const folder = await unpackedChromium();
  return chromium.launch({
    executablePath: join(folder, 'chromium'),
    // The package's own arguments would disable web security, and with it most of what is tested.
    args: ['--no-sandbox', '--disable-gpu', '--font-render-hinting=none', ...more],
    env: { ...process.env, FONTCONFIG_FILE: join(folder, 'fonts.conf') },
  });
}

/**
 * Unpacked next to its final place and moved there as a whole, so that test files that start together never see a
 * partial copy.
 */
async function unpackedChromium(): Promise<string> {
  const manifest = join(modules, '@sparticuz', 'chromium', 'package.json');
  const { version } = JSON.parse(await readFile(manifest, 'utf8')) as { version: string };
  const cache = join(modules, '.cache');
  const folder = join(cache, `chromium-${version}`);
  if (existsSync(folder)) return folder;
  await mkdir(cache, { recursive: true });
  const fresh = await mkdtemp(join(cache, 'chromium-new-'));
  await unpackInto(fresh);
  await writeFile(join(fresh, 'fonts.conf'), fontSettings(join(folder, 'fonts')));
  await rename(fresh, folder).catch(async () => rm(fresh, { recursive: true, force: true }));
  return folder;
}

async function unpackInto(folder: string): Promise<void> {
  const chromiumUrl = JSON.stringify(import.meta.resolve('@sparticuz/chromium'));
  const program = `import chromium from ${chromiumUrl}; await chromium.executablePath();`;
  // The package always unpacks into the folder for temporary files. In this process, a service that starts meanwhile
  // would keep its data there.
  await run(process.execPath, ['--input-type=module', '--eval', program], { env: { ...process.env, TMPDIR: folder } });
}

/** Uses only the bundled font, so that pages look and measure the same on every machine. */
function fontSettings(folder: string): string {
  return `<?xml version="1.0"?><fontconfig><dir>${folder}</dir><cachedir>${folder}/cache</cachedir></fontconfig>\n`;
}
