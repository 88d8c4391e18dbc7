import { readFileSync } from 'node:fs';
import { ConfigurationError } from './platform/configuration-error.ts';
import { errorCode } from './platform/error-code.ts';

/** Where the text of a setting comes from: its variable or, for a secret, the file that `NAME_FILE` names. */

const fileLengthMax = 64 * 1024;

export const fileVariableOf = (name: string): string => `${name}_FILE`;

/** Returns undefined if the setting is not given. Set but empty is a mistake, for example of a template, and never means the default. */
export function givenText(
  environment: NodeJS.ProcessEnv,
  name: string,
  { isSecret = false }: { readonly isSecret?: boolean },
): string | undefined {
  const value = present(environment, name);
  const path = isSecret ? present(environment, fileVariableOf(name)) : undefined;
  if (path === undefined) return value;
  if (value !== undefined)
    throw new ConfigurationError(`${name} and ${fileVariableOf(name)} are both set. Remove one.`);
  return contentOf(fileVariableOf(name), path);
}

/** The headers hold a key of the collector, so a file can hold them, like every secret. */
export const telemetryHeaders = (environment: NodeJS.ProcessEnv): string | undefined =>
  givenText(environment, 'OTEL_EXPORTER_OTLP_HEADERS', { isSecret: true });

function present(environment: NodeJS.ProcessEnv, name: string): string | undefined {
  const value = environment[name]?.trim();
  if (value === '') throw new ConfigurationError(`${name} is set but empty. Give it a value, or remove it.`);
  return value;
}

function contentOf(variable: string, path: string): string {
  const text = read(variable, path).trim();
  if (text === '') throw new ConfigurationError(`${variable}: the file ${path} is empty.`);
  if (text.length > fileLengthMax) throw new ConfigurationError(`${variable}: the file ${path} is too large.`);
  return text;
}

function read(variable: string, path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    throw new ConfigurationError(`${variable}: the file ${path} cannot be read (${errorCode(error) ?? 'unknown'}).`);
  }
}
