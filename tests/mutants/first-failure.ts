import type { TestEvent } from 'node:test/reporters';

/** A line of the reporter: the suites around a test that starts or failed, the first of which is its file, and its name. */
export interface Line {
  readonly path: readonly string[];
  readonly hasFailed: boolean;
}

const lineOf = (line: Line): string => `${JSON.stringify(line)}\n`;

/** A reporter that writes each file that starts and each test that failed as a line of JSON. */
export default async function* failures(events: AsyncIterable<TestEvent>): AsyncGenerator<string> {
  const around: string[] = [];
  for await (const { type, data } of events) {
    if (type === 'test:start') {
      around.splice(data.nesting, Infinity, data.name);
      if (data.nesting === 0) yield lineOf({ path: [data.name], hasFailed: false });
    }
    if (type !== 'test:fail') continue;
    const { failureType } = data.details.error as Error & { failureType?: string };
    if (failureType === 'subtestsFailed') continue;
    yield lineOf({ path: [...around.slice(0, data.nesting), data.name], hasFailed: true });
  }
}
