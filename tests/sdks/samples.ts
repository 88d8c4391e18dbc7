import { globSync, readFileSync } from 'node:fs';
import { basename } from 'node:path';
import { fileURLToPath } from 'node:url';
import { filledSample } from '../../pages/docs/filled-samples.ts';
import { methodNames } from '../../sdk/generator/names.ts';
import type { Call, Described } from '../../server/pages/docs/openapi.ts';
import { samplesOf } from '../../server/pages/docs/samples.ts';
import { stepsOf } from '../support/guide.ts';
import { importsOf, type Language, programText } from '../support/guide-programs.ts';
import { document, resolve } from '../support/openapi.ts';

/** The samples of the API reference and of the guides, for the checkers of their languages. */

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

/** The Python samples of the API reference as one program, and those of each guide as one. */
export function pythonFiles(): Map<string, string> {
  const programs = partsOfGuides('python').map(
    ([name, parts]) => [`${name.replaceAll('-', '_')}.py`, programText('python', parts)] as const,
  );
  return new Map([['reference.py', pythonReference()], ...programs]);
}

/** The samples of the guides that have some in this language. */
function partsOfGuides(wanted: Language): (readonly [guide: string, parts: readonly string[]])[] {
  const docs = fileURLToPath(new URL('../../docs', import.meta.url));
  return globSync(`${docs}/*.md`)
    .toSorted()
    .map((file) => {
      const steps = stepsOf(readFileSync(file, 'utf8')).filter(({ language }) => language === wanted);
      return [basename(file, '.md'), steps.map(({ code }) => code)] as const;
    })
    .filter(([, parts]) => parts.length > 0);
}

/** Each Go sample of the guides as a function, for gofmt. */
export function goParts(): string {
  const bodies = partsOfGuides('go').flatMap(([, parts]) =>
    parts.map((code) => code.replace(importsOf, '').replaceAll(/^(?=.)/gm, '\t')),
  );
  return `package parts\n\n${bodies.map((body) => `func sample() {\n${body}\n}\n`).join('\n')}`;
}

function pythonReference(): string {
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
