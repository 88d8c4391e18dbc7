import { argon2, randomBytes, timingSafeEqual } from 'node:crypto';
import { availableParallelism } from 'node:os';
import { promisify } from 'node:util';
import { ApiError, type FieldError, validationError } from '../../errors.ts';
import { limits } from '../../limits.ts';
import { createSemaphore } from '../../platform/semaphore.ts';

/** Passwords are stored as argon2id hashes, with their parameters, so that the cost can be raised later. */

const derive = promisify(argon2);

interface HashCost {
  readonly memory: number;
  readonly passes: number;
  readonly parallelism: number;
}

// 19 MiB and two passes: about 50 ms of one core.
const cost: HashCost = { memory: 19_456, passes: 2, parallelism: 1 };
const tagLength = 32;

// Unauthenticated clients can trigger this work. It uses at most half of the cores and of the thread pool, which files
// and DNS lookups need too, and of these a third of the time. The queue is no longer than a person would wait.
const inTurn = createSemaphore({
  atOnce: availableParallelism() < 4 ? 1 : 2,
  waitingMax: 64,
  rest: 2,
  busy: () => {
    const message = 'Too many sign-ins at the moment. Try again shortly.';
    return new ApiError('service_unavailable', message, { headers: { 'Retry-After': '2' } });
  },
});

async function tagOf(password: string, nonce: Buffer, { memory, passes, parallelism }: HashCost): Promise<Buffer> {
  const message = Buffer.from(password.normalize('NFKC'));
  const tag = await inTurn(() => derive('argon2id', { message, nonce, memory, passes, parallelism, tagLength }));
  return Buffer.from(tag);
}

export async function hashPassword(password: string): Promise<string> {
  const nonce = randomBytes(16);
  const tag = await tagOf(password, nonce, cost);
  const { memory, passes, parallelism } = cost;
  const encode = (bytes: Buffer): string => bytes.toString('base64').replaceAll('=', '');
  return `$argon2id$v=19$m=${memory},t=${passes},p=${parallelism}$${encode(nonce)}$${encode(tag)}`;
}

const format = /^\$argon2id\$v=19\$m=(\d+),t=(\d+),p=(\d+)\$([^$]+)\$([^$]+)$/;

/** The hash that is compared if the user does not exist, so that the response takes as long. */
const unknownUserHash = `$argon2id$v=19$m=${cost.memory},t=${cost.passes},p=1$${'A'.repeat(22)}$${'A'.repeat(43)}`;

export async function passwordMatches(password: string, hash: string | undefined): Promise<boolean> {
  const [, memory, passes, parallelism, nonce = '', tag = ''] = format.exec(hash ?? unknownUserHash) ?? [];
  const kept = Buffer.from(tag, 'base64');
  const found = await tagOf(password, Buffer.from(nonce, 'base64'), {
    memory: Number(memory),
    passes: Number(passes),
    parallelism: Number(parallelism),
  });
  return hash !== undefined && timingSafeEqual(kept, found);
}

// The most common passwords that are long enough for our rules.
const common = new Set(
  (
    '1234567890 12345678910 123456789a 1q2w3e4r5t 1qaz2wsx3edc qwertyuiop qwerty12345 qwerty123456 password12 ' +
    'password123 password1234 password12345 passw0rd123 iloveyou123 abcdefghij abcdefghijk 0987654321 1111111111 ' +
    '0000000000 1234512345 administrator welcome123 welcome1234 letmein1234 changeme123 q1w2e3r4t5 princess123 ' +
    'football123 monkey12345 superman123 asdfghjkl1 zaq12wsxcde 9876543210 a123456789 aa12345678 qazwsxedcrfv'
  ).split(' '),
);

/** Length matters most; the other rules exclude the most obvious guesses. */
export function checkPassword(password: string, email: string, field = 'password'): void {
  const problem = ((): string | undefined => {
    if (password.length < limits.passwordLengthMin) return `must have at least ${limits.passwordLengthMin} characters`;
    const lower = password.toLowerCase();
    if (common.has(lower) || new Set(lower).size < 4) return 'is too common. Choose a password that is harder to guess';
    if (lower === email.toLowerCase() || lower === email.toLowerCase().split('@')[0]) {
      return 'must not be your email address';
    }
    return undefined;
  })();
  if (!problem) return;
  const error: FieldError = { field, code: 'invalid_value', message: problem };
  throw validationError([error]);
}
