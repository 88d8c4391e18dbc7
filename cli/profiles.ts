import { randomUUID } from 'node:crypto';
import { chmod, mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { dirname, isAbsolute, join } from 'node:path';
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

/** The profile that is used if no other is chosen. */
const defaultName = 'default';

/** Where the system keeps the settings of programs: https://specifications.freedesktop.org/basedir-spec, or %APPDATA%. */
export function profilesFile(platform: string, environment: NodeJS.ProcessEnv, home: string): string {
  const [configured, usual] =
    platform === 'win32'
      ? [environment.APPDATA, join(home, 'AppData', 'Roaming')]
      : [environment.XDG_CONFIG_HOME, join(home, '.config')];
  return join(configured && isAbsolute(configured) ? configured : usual, 'svc', 'profiles.json');
}

const fileName = (): string => profilesFile(process.platform, process.env, homedir());

async function readProfiles(): Promise<Profiles> {
  const file = fileName();
  const text = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT' || error.code === 'ENOTDIR') return '{}';
    throw new CommandError(`${file} cannot be read: ${error.message}.`);
  });
  try {
    return JSON.parse(text) as Profiles;
  } catch {
    throw new CommandError(`${file} is not valid JSON. Correct it, or delete it and run svc login.`);
  }
}

async function writeProfiles(profiles: Profiles): Promise<void> {
  const file = fileName();
  const folder = dirname(file);
  const fresh = `${file}.${randomUUID()}`;
  try {
    await mkdir(folder, { recursive: true, mode: 0o700 });
    // The folder may be older than the first key in it.
    await chmod(folder, 0o700);
    await writeFile(fresh, `${JSON.stringify(profiles, null, 2)}\n`, { mode: 0o600, flag: 'wx', flush: true });
    await rename(fresh, file);
  } catch (error) {
    await rm(fresh, { force: true }).catch(() => undefined);
    throw new CommandError(`${file} cannot be written: ${(error as Error).message}.`);
  }
}

const named = (profiles: Profiles, name: string): Profile | undefined =>
  Object.hasOwn(profiles, name) ? profiles[name] : undefined;

/** The profile of --profile or SVC_PROFILE; undefined if none is chosen. */
export async function chosenProfile({ profile = process.env.SVC_PROFILE }: Flags): Promise<Profile | undefined> {
  if (!profile) return undefined;
  const profiles = await readProfiles();
  const found = named(profiles, profile);
  if (found) return found;
  const meant = suggestion(profile, Object.keys(profiles));
  throw new UsageError(`There is no profile "${profile}".${meant} \`svc profiles list\` lists them.`);
}

/** The profile of a login without a name. */
export const defaultProfile = async (): Promise<Profile | undefined> => named(await readProfiles(), defaultName);

/** The name that `login` and `logout` mean. */
export function profileName({ profile = process.env.SVC_PROFILE || defaultName }: Flags): string {
  if (/^[\w.-]+$/.test(profile) && profile !== '__proto__') return profile;
  throw new UsageError('The name of a profile has letters, digits, dots and hyphens, for example --profile shop.');
}

export const readProfile = async (name: string): Promise<Profile | undefined> => named(await readProfiles(), name);

export async function saveProfile(name: string, profile: Profile): Promise<void> {
  await writeProfiles({ ...(await readProfiles()), [name]: profile });
}

export const shortened = (key: string): string => `${key.slice(0, 12)}…${key.slice(-4)}`;

/** `logout`, `logout --profile NAME`. */
export async function logoutCommand(_words: readonly string[], flags: Flags): Promise<string> {
  const name = profileName(flags);
  const profiles = await readProfiles();
  if (!named(profiles, name)) {
    const meant = suggestion(name, Object.keys(profiles));
    throw new CommandError(`There is no profile "${name}".${meant} \`svc profiles list\` lists them.`, 'notFound');
  }
  const { [name]: _removed, ...others } = profiles;
  await writeProfiles(others);
  if (flags.json) return `${JSON.stringify({ profile: name, removed: true })}\n`;
  return `Profile ${name} removed from this machine. Its key still works; revoke it in the dashboard if you no longer need it.\n`;
}

/** `profiles list`. */
export async function profilesCommand(_words: readonly string[], flags: Flags): Promise<string> {
  const rows = Object.entries(await readProfiles()).map(([name, { base_url, key }]) => [
    name,
    base_url,
    shortened(key),
  ]);
  if (flags.json) return `${JSON.stringify(rows.map(([name, base_url]) => ({ name, base_url })))}\n`;
  return table(['name', 'base_url', 'key'], rows, 'No profiles. `svc login` creates one.');
}
