/** The exit codes of a command, and what they mean. docs/cli.md lists them. */
export const exitCodes = {
  failed: [1, 'The command failed, or a check found a problem'],
  usage: [2, 'The command, an option or an argument is wrong'],
  notFound: [3, 'The object does not exist, or the key does not belong to its company (404)'],
  unreachable: [4, 'The service or the receiver does not respond'],
  refused: [5, 'The key is missing, invalid or not allowed to do this (401, 403)'],
} as const satisfies Readonly<Record<string, readonly [code: number, meaning: string]>>;

type Failure = keyof typeof exitCodes;

const failures: Readonly<Partial<Record<number, Failure>>> = { 401: 'refused', 403: 'refused', 404: 'notFound' };

/** What an error of the API means for the command. */
export const failureOf = (status: number): Failure => failures[status] ?? 'failed';

/** An error that the user can fix. Only its message is shown. */
export class CommandError extends Error {
  readonly exitCode: number;

  constructor(message: string, failure: Failure = 'failed') {
    super(message);
    [this.exitCode] = exitCodes[failure];
  }
}

/** The command was not given as it must be. Nothing was done. */
export class UsageError extends CommandError {
  constructor(message: string) {
    super(message, 'usage');
  }
}
