import { writeFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

const root = fileURLToPath(new URL('../..', import.meta.url));

/**
 * Creates the program that runs the files of a group, each as its own suite, so that its hooks begin and end with it.
 * With two shards, the companies of the tests are on the second one.
 */
export async function programOf(files: readonly string[], path: string, twoShards = false): Promise<string> {
  const suites = files.map((file) => {
    const url = pathToFileURL(resolve(root, file)).href;
    return `describe(${JSON.stringify(file)}, () => declare(${JSON.stringify(url)}));`;
  });
  const tracking = JSON.stringify(new URL('tracking.ts', import.meta.url).href);
  const text = `import { stopTracking } from ${tracking};
import { describe } from 'node:test';
${twoShards ? `process.env.SVC_TEST_SHARDS = '2';\n` : ''}let left = ${files.length};
async function declare(url) {
  await import(url);
  left -= 1;
  if (left === 0) stopTracking();
}
${suites.join('\n')}
`;
  await writeFile(path, text);
  return path;
}
