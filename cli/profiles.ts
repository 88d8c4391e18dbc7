import { mkdir, readFile, rename, writeFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { CommandError, UsageError } from './command-error.ts';
import type { Flags } from './options.ts';
import { suggestion } from '../server/platform/suggest.ts';
import { table } from './table.ts';

/** Named pairs of an address and a key, in a file that only its owner can read. */

export interface Profile {
  readonly base_url: string;
  readonly key: string;
}

type Profiles = Readonly<Record<string, Profile>>;

const fileName = (): string => join(process.env.XDG_CONFIG_HOME || join(homedir(), '.config'), 'svc', 'profiles.json');

async function readProfiles(): Promise<Profiles> {
  const file = fileName();
  const text = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return '{}';
    throw new CommandError(`${file} cannot be read: ${error.message}.`);
  });
  try {
    return JSON.parse(text) as Profiles;
  } catch {
    throw new CommandError(`${file} is not valid JSON. Correct it, or delete it and run svc profiles set.`);
  }
}

async function writeProfiles(profiles: Profiles): Promise<void> {
  const file = fileName();
  await mkdir(dirname(file), { recursive: true, mode: 0o700 });
  await writeFile(`${file}.new`, `${JSON.stringify(profiles, null, 2)}\n`, { mode: 0o600 });
  await rename(`${file}.new`, file);
}

/** The profile of --profile or SVC_PROFILE; undefined if none is chosen. */
export async function chosenProfile({ profile = process.env.SVC_PROFILE }: Flags): Promise<Profile | undefined> {
  if (!profile) return undefined;
  const profiles = await readProfiles();
  const found = Object.hasOwn(profiles, profile) ? profiles[profile] : undefined;
  if (found) return found;
  const meant = suggestion(profile, Object.keys(profiles));
  throw new UsageError(`There is no profile "${profile}".${meant} \`svc profiles list\` lists them.`);
}

const shortened = (key: string): string => `${key.slice(0, 12)}…${key.slice(-4)}`;

/** `profiles set NAME`, `profiles list`, `profiles remove NAME`. */
export async function profilesCommand([action, name]: readonly string[], flags: Flags): Promise<string> {
  const profiles = await readProfiles();
  if (action === 'list') {
    const rows = Object.entries(profiles).map(([one, { base_url, key }]) => [one, base_url, shortened(key)]);
    if (flags.json) return `${JSON.stringify(rows.map(([one, base_url]) => ({ name: one, base_url })))}\n`;
    return table(['name', 'base_url', 'key'], rows, 'No profiles. `svc profiles set NAME` creates one.');
  }
  if (!name || !/^[\w.-]+$/.test(name)) {
    throw new UsageError(`Use profiles ${action} NAME, with a name of letters, digits, dots and hyphens.`);
  }
  if (action === 'remove') {
    const { [name]: removed, ...others } = profiles;
    if (!removed) throw new CommandError(`There is no profile "${name}".`, 'notFound');
    await writeProfiles(others);
    return `Profile ${name} removed.\n`;
  }
  const key = flags.key ?? process.env.SVC_KEY;
  const baseUrl = flags['base-url'] ?? process.env.SVC_URL;
  if (!key || !baseUrl) throw new UsageError('Set --base-url and --key, or SVC_URL and SVC_KEY, for the profile.');
  await writeProfiles({ ...profiles, [name]: { base_url: baseUrl, key } });
  return `Profile ${name} saved. Use it with --profile ${name}, or set SVC_PROFILE=${name}.\n`;
}
