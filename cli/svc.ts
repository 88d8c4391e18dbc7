#!/usr/bin/env node
import { CommandError, exitCodes } from './command-error.ts';
import { runCommand } from './run.ts';
import { ConfigurationError, wrongSettingsCode } from '../server/platform/configuration-error.ts';
import { watchLauncher } from '../server/platform/launcher.ts';

/** `svc <command>`: the command line for operators and developers. */

const isJson = (text: string): boolean => /^\s*[{[]/.test(text);

/** The reader of the output may exit early, as `head` does. */
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code === 'EPIPE') process.exit(0);
  throw error;
});

/** An unusable database is an error that the user can fix, like an invalid setting. */
const ofTheDatabase = new Set(['UnusableDatabaseError', 'MigrationError']);

function messageOf(error: Error): string {
  if (error instanceof CommandError || error instanceof ConfigurationError) return error.message;
  // Compared by name, because their modules are loaded only when a command needs them.
  if (ofTheDatabase.has(error.constructor.name)) return error.message;
  const searched = ['debug', 'trace'].includes(process.env.SVC_LOG_LEVEL ?? '');
  if (searched) return error.stack ?? String(error);
  return `Unexpected error: ${error.message || String(error)}. Set SVC_LOG_LEVEL=debug to see where.`;
}

function exitCodeOf(error: Error): number {
  if (error instanceof CommandError) return error.exitCode;
  return error instanceof ConfigurationError ? wrongSettingsCode : exitCodes.failed[0];
}

// Commands that run until a signal ends them handle it as if it had reached them.
watchLauncher(() => process.kill(process.pid, 'SIGTERM'));

runCommand(process.argv.slice(2))
  .then((text) => void process.stdout.write(text))
  .catch((error: Error) => {
    const message = messageOf(error);
    const asJson = process.argv.includes('--json') && !isJson(message);
    process.stderr.write(`${asJson ? JSON.stringify({ error: { message } }) : message}\n`);
    process.exitCode = exitCodeOf(error);
  });
