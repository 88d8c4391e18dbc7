/** What a reader gets who copies a sample: with the address of the installation and a key, and with what the page leaves out. */

export interface Given {
  readonly url: string;
  readonly key: string | undefined;
}

export interface SampleCode {
  readonly code: string;
  readonly language: string;
  /** A call of the reference is written without the client; its guides create one. */
  readonly isCall: boolean;
}

export const keyPlaceholder = 'svc_test_sk_…';

/** Before the sample, so that the sample itself stays as the page shows it. */
export function filledSample({ code, language, isCall }: SampleCode, { url, key }: Given): string {
  const filled = code.replaceAll(keyPlaceholder, key ?? keyPlaceholder);
  if (isCall) return withClient(filled, language, { url, key: key ?? keyPlaceholder });
  const known = Object.entries({ SVC_URL: url, SVC_KEY: key }).filter(
    ([name, value]) => value !== undefined && isRead(code, language, name),
  );
  const settings = known.map(([name, value = '']) => settingOf(language, name, value));
  if (language === 'go') return goFile(filled, settings);
  if (language === 'python' && settings.length > 0) settings.unshift('import os\n');
  return [...settings, filled].join('\n');
}

function isRead(code: string, language: string, name: string): boolean {
  if (language === 'sh') return new RegExp(`\\$\\{?${name}\\b`).test(code) && !code.includes(`export ${name}=`);
  return /process\.env|os\.environ|os\.Getenv/.test(code) && code.includes(name);
}

function settingOf(language: string, name: string, value: string): string {
  if (language === 'sh') return `export ${name}=${value}`;
  if (language === 'python') return `os.environ.setdefault("${name}", "${value}")`;
  return language === 'go' ? `os.Setenv("${name}", "${value}")` : `process.env.${name} ??= '${value}';`;
}

function withClient(code: string, language: string, { url, key }: { url: string; key: string }): string {
  if (language === 'python') return `from svc_payments import Svc\n\nsvc = Svc("${key}", base_url="${url}")\n\n${code}`;
  if (language === 'go') return goProgram(code, url, key);
  return `import { Svc } from '@svc-payments/node';\n\nconst svc = new Svc('${key}', { baseUrl: '${url}' });\n\n${code}`;
}

const goModule = 'svc-payments.internal/go';
const failed = 'if err != nil {\n\tlog.Fatal(err)\n}\n';
const indented = (code: string): string => code.replaceAll(/^(?=.)/gm, '\t');

/** A complete program, which prints the result as JSON. */
function goProgram(code: string, url: string, key: string): string {
  const show = `if err := json.NewEncoder(os.Stdout).Encode(result); err != nil {\n\tlog.Fatal(err)\n}\n`;
  const end = /\bresult, err :=/.test(code) ? `\n${failed}${show}` : '\n';
  const start = `ctx := context.Background()\nclient, err := svc.New("${key}", "${url}")\n${failed}`;
  const body = `${start}\n${code}${end}`;
  const packages = ['context', 'encoding/json', 'fmt', 'log', 'os', 'time'].filter((name) =>
    new RegExp(`\\b${name.split('/').at(-1)}\\.[A-Z]`).test(body),
  );
  const imports = [...packages.map((name) => `\t"${name}"\n`), `\n\tsvc "${goModule}"\n`];
  return `package main\n\nimport (\n${imports.join('')})\n\nfunc main() {\n${indented(body)}}\n`;
}

/** The samples of a guide are parts of one program. The one with the imports begins it. */
function goFile(code: string, settings: readonly string[]): string {
  const imports = /^import (?:\([^)]*\)|.*)\n\n/.exec(code)?.[0];
  if (!imports) return [...settings, code].join('\n');
  const body = [...settings, code.slice(imports.length)].join('\n');
  return `package main\n\n${imports}func main() {\n${indented(body)}\n}\n`;
}
