import { type Publisher, publisher } from './publisher.ts';

/** What the SDKs for Python and Go are called: names that no one can register, unless the publisher has its own. */

const inSources = { python: 'svc-payments', go: 'svc-payments.internal/go' };

type Names = Pick<Publisher, 'python_package' | 'go_module'>;

const fileName = (python: string): string => python.toLowerCase().replaceAll(/[-_.]+/g, '_');
const hostOf = (module: string): string => module.split('/')[0] ?? '';

export const packageNames = {
  python: publisher.python_package ?? inSources.python,
  /** As the files of the Python SDK are named. */
  pythonFile: fileName(publisher.python_package ?? inSources.python),
  go: publisher.go_module ?? inSources.go,
  goHost: hostOf(publisher.go_module ?? inSources.go),
};

/** The guides, samples and sources with the names of the publisher. The module that Python imports has the same name for all. */
export function publishedNames(text: string, names: Names = publisher): string {
  const go = names.go_module ?? inSources.go;
  const python = names.python_package ?? inSources.python;
  return text
    .replaceAll(inSources.go, () => go)
    .replaceAll(hostOf(inSources.go), () => hostOf(go))
    .replaceAll(`"${inSources.python}"`, () => `"${python}"`)
    .replaceAll(`${fileName(inSources.python)}-`, () => `${fileName(python)}-`);
}
