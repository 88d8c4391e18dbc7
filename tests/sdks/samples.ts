import { filledSample } from '../../pages/docs/filled-samples.ts';
import { methodNames } from '../../sdk/generator/names.ts';
import type { Call, Described } from '../../server/pages/docs/openapi.ts';
import { samplesOf } from '../../server/pages/docs/samples.ts';
import { document, resolve } from '../support/openapi.ts';

/** The samples of the API reference, for the checkers of their languages. */

interface CallSample {
  readonly operationId: string;
  readonly code: string;
}

function samplesIn(language: 'Python' | 'Go'): CallSample[] {
  const described = { version: '', document, calls: [], resolve } as unknown as Described;
  const calls = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ ...operation, method: method.toUpperCase(), path })),
  ) as unknown as Call[];
  return calls.map((call) => {
    const resolved = { ...call, parameters: call.parameters.map((one) => resolve(one)) };
    const sample = samplesOf(resolved, described).find(({ name }) => name === language);
    if (!sample?.code) throw new Error(`${call.operationId} has no sample in ${language}`);
    return { operationId: call.operationId, code: sample.code };
  });
}

/** All Python samples as one program, for a checker of types. */
export function pythonSamples(): string {
  const functions = samplesIn('Python').map(({ operationId, code }) => {
    const indented = code.replaceAll(/^/gm, '    ');
    return `# ${methodNames[operationId]}\ndef ${operationId}() -> None:\n${indented}\n`;
  });
  return `from svc_payments import Svc\n\nsvc = Svc("", base_url="")\n\n${functions.join('\n')}`;
}

/** Each Go sample as a reader copies it, in one package. */
export function goFiles(): Map<string, string> {
  const given = { url: 'https://pay.example.com', key: undefined };
  return new Map(
    samplesIn('Go').map(({ operationId, code }) => [
      `${operationId}.go`,
      filledSample({ code, language: 'go', isCall: true }, given)
        .replace('package main', 'package samples')
        .replace('func main()', `func ${operationId}()`),
    ]),
  );
}
