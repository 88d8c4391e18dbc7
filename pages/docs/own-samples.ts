import { docsTexts } from './texts.ts';
import { NotSent, trialKey } from './trial-key.ts';

/** Samples as a reader copies them: with the address of this installation and, for a signed-in member, a key of the sandbox. */

interface Given {
  readonly url: string;
  readonly key: string | undefined;
}

const placeholder = 'svc_test_sk_…';

const usesKey = (code: string): boolean => /\bSVC_KEY\b/.test(code) || code.includes(placeholder) || needsClient(code);

/** A call of the reference, which is written without the client. */
const needsClient = (code: string): boolean =>
  document.body.classList.contains('reference') && /\bsvc\./.test(code) && !/\bsvc = /.test(code);

/** Before the sample, so that the sample itself stays as the page shows it. */
function filledSample(code: string, isShell: boolean, { url, key }: Given): string {
  const filled = code.replaceAll(placeholder, key ?? placeholder);
  if (!isShell && needsClient(code)) {
    return `import { Svc } from '@svc-payments/node';\n\nconst svc = new Svc('${key ?? placeholder}', { baseUrl: '${url}' });\n\n${filled}`;
  }
  const values = { SVC_URL: url, SVC_KEY: key };
  const lines = Object.entries(values).flatMap(([name, value]) => {
    const isUsed = isShell
      ? new RegExp(`\\$\\{?${name}\\b`).test(code)
      : /process\.env/.test(code) && code.includes(name);
    if (!isUsed || value === undefined || code.includes(`export ${name}=`)) return [];
    return [isShell ? `export ${name}=${value}` : `process.env.${name} ??= '${value}';`];
  });
  return [...lines, filled].join('\n');
}

/** Undefined for a reader who is not signed in, who is not asked again. */
let isSignedOut = false;

async function keyOfReader(): Promise<string | undefined> {
  if (isSignedOut) return undefined;
  try {
    const { text, untilMs } = await trialKey();
    const note = document.querySelector('#samples-note');
    const time = new Date(untilMs).toLocaleTimeString(undefined, { timeStyle: 'short' });
    if (note) note.textContent = docsTexts.samplesWithKey.replace('{time}', time);
    return text;
  } catch (error) {
    if (!(error instanceof NotSent)) throw error;
    isSignedOut = true;
    return undefined;
  }
}

export async function sampleToCopy(block: Element | null): Promise<string> {
  const code = (block?.textContent ?? '').trimEnd();
  const isShell = /language-(sh|bash)/.test(block?.className ?? '');
  if (!isShell && !/language-(js|ts)/.test(block?.className ?? '')) return code;
  const key = usesKey(code) ? await keyOfReader().catch(() => undefined) : undefined;
  return filledSample(code, isShell, { url: location.origin, key });
}
