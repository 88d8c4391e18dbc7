import { exceptionNames } from './log-format.ts';

/** How a person at a terminal reads a line of the log: `23:09:11  creating sample data  percent=25`. Programs get JSON. */

interface Line {
  readonly severity_text: string;
  readonly timestamp: string;
  readonly body?: string;
  readonly attributes?: Readonly<Record<string, unknown>>;
}

const usual = 'INFO';
const stackName = exceptionNames.stack.name;

export function lineForPeople(json: string): string {
  const { severity_text, timestamp, body = '', attributes = {} }: Line = JSON.parse(json) as Line;
  const { [stackName]: stack, ...others } = attributes;
  const at = new Date(timestamp).toTimeString().slice(0, 8);
  const details = Object.entries(others).map(([name, value]) => `${name.replace(/^svc\./, '')}=${shown(value)}`);
  const level = severity_text === usual ? [] : [severity_text];
  const first = [at, ...level, body, ...details].join('  ');
  return typeof stack === 'string' ? `${first}\n${stack}\n` : `${first}\n`;
}

function shown(value: unknown): string {
  return typeof value === 'string' && /^\S+$/.test(value) ? value : JSON.stringify(value);
}
