import { settings } from '../server/config.ts';
import type { Setting } from '../server/setting-kinds.ts';

type Table = (head: readonly string[], rows: readonly (readonly string[])[]) => string;

/** The page of the settings. */
export function settingsPage(note: string, table: Table): string {
  const rows = Object.entries<Setting<unknown>>(settings).map(([name, { fallback, describe, isSecret }]) => [
    `\`${name}\``,
    fallback === '' ? '' : `\`${fallback}\``,
    isSecret ? `${describe} *(secret)*` : describe,
  ]);
  return `${note}

# Configuration

Settings are environment variables. If a value is invalid, or a variable is set but empty, the service exits at the start with a line that names the variable, before it creates anything.
A variable that begins with \`SVC_\` and is not in this list has no effect. The log names it at the start, with the setting that was probably meant.

${table(['Variable', 'Default', 'Meaning'], rows)}

## Secrets in files

A setting that is marked *(secret)* can also come from a file: \`NAME_FILE\` is the path of a file with the value, for example \`SVC_MASTER_SECRET_FILE=/run/secrets/master\`. White space around
the value is ignored. It is an error if both forms are set, or if the file is empty or cannot be read. This works with the secrets of Docker and Kubernetes, and with the
[credentials of systemd](self-hosting.md#secrets-in-files).

## Exit codes

| Code | Meaning |
| --- | --- |
| 0 | A signal has stopped the service, or the command has succeeded. |
| 78 | A setting is wrong. Another start with the same settings fails again, so the units of systemd do not restart the service. |
| 1 | Any other failure, for example a database that cannot be reached or refuses the login, a port that is in use, or a schema of another version. Another start may succeed. |

## Traces

The variables of OpenTelemetry turn traces on; see [Observability](observability.md#opentelemetry).
`;
}
