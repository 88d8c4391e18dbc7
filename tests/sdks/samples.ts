import { methodNames } from '../../sdk/generator/names.ts';
import type { Call, Described } from '../../server/pages/docs/openapi.ts';
import { samplesOf } from '../../server/pages/docs/samples.ts';
import { document, resolve } from '../support/openapi.ts';

/** Every Python sample of the API reference as one program, for a checker of types. */
export function pythonProgram(): string {
  const described = { version: '', document, calls: [], resolve } as unknown as Described;
  const calls = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ ...operation, method: method.toUpperCase(), path })),
  ) as unknown as Call[];
  const functions = calls.map((call) => {
    const sample = samplesOf({ ...call, parameters: call.parameters.map((one) => resolve(one)) }, described).find(
      ({ name }) => name === 'Python',
    );
    const code = (sample?.code ?? '').replaceAll(/^/gm, '    ');
    return `# ${methodNames[call.operationId]}\ndef ${call.operationId}() -> None:\n${code}\n`;
  });
  return `from svc_payments import Svc\n\nsvc = Svc("", base_url="")\n\n${functions.join('\n')}`;
}
