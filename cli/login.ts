import { text as readAll } from 'node:stream/consumers';
import { addressOf, ApiFailure, call, keyOf, type Target } from './api.ts';
import { UsageError } from './command-error.ts';
import { askSecret } from './ask-secret.ts';
import type { Flags } from './options.ts';
import { profileName, readProfile, saveProfile, shortened } from './profiles.ts';
import { withProgress } from './progress.ts';

/** `login`: keeps an address and a key under a name, after the service has accepted the key. */
export async function loginCommand(_words: readonly string[], flags: Flags): Promise<string> {
  const name = profileName(flags);
  const baseUrl = await addressFor(name, flags);
  const key = keyOf(await readKey(baseUrl));
  if (/^svc_[a-z]+_pk_/.test(key)) {
    throw new UsageError('This is a publishable key. The command needs a secret key, for example svc_test_sk_….');
  }
  await withProgress('Checking the key', () => checkKey({ baseUrl, key }));
  await saveProfile(name, { base_url: baseUrl, key });
  if (flags.json) return `${JSON.stringify({ profile: name, base_url: baseUrl })}\n`;
  const use = name === 'default' ? '' : ` Use it with --profile ${name}, or set SVC_PROFILE=${name}.`;
  return `Logged in at ${baseUrl} with the key ${shortened(key)} as the profile ${name}.${use}\n`;
}

async function addressFor(name: string, flags: Flags): Promise<string> {
  const { SVC_URL, SVC_BASE_URL } = process.env;
  const known = flags['base-url'] ?? (await readProfile(name))?.base_url ?? (SVC_URL || SVC_BASE_URL);
  if (known) return addressOf(known, 'https://pay.example.com').replace(/\/+$/, '');
  throw new UsageError('Give the address of the service: svc login --base-url https://pay.example.com.');
}

async function readKey(baseUrl: string): Promise<string> {
  const key = process.stdin.isTTY ? await askSecret(`Secret key for ${baseUrl}: `) : await readAll(process.stdin);
  if (key.trim() !== '') return key;
  throw new UsageError('The key is missing. Type it, or pass it to standard input: svc login < key.txt.');
}

interface Answer {
  readonly data?: unknown;
  readonly error?: { readonly code?: string };
}

/** A key with few permissions is refused by the list, but it is a key of this service. */
async function checkKey(target: Target): Promise<void> {
  try {
    const { data } = ((await call(target, 'GET', '/v1/plans?limit=1')) ?? {}) as Answer;
    if (!Array.isArray(data)) throw new UsageError(`${target.baseUrl} is not the address of a payments service.`);
  } catch (error) {
    if (!(error instanceof ApiFailure && codeOf(error) === 'insufficient_permissions')) throw error;
  }
}

function codeOf({ text }: ApiFailure): string | undefined {
  try {
    return (JSON.parse(text) as Answer).error?.code;
  } catch {
    return undefined;
  }
}
