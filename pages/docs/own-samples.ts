import { filledSample, keyPlaceholder, type SampleCode } from './filled-samples.ts';
import { docsTexts } from './texts.ts';
import { NotSent, trialKey } from './trial-key.ts';

/** Samples as a reader copies them: with the address of this installation and, for a signed-in member, a key of the sandbox. */

const usesKey = ({ code, isCall }: SampleCode): boolean =>
  /\bSVC_KEY\b/.test(code) || code.includes(keyPlaceholder) || isCall;

/** Samples of these languages are filled in, under the name that their rules have. */
const languages: Readonly<Record<string, string>> = {
  sh: 'sh',
  bash: 'sh',
  js: 'js',
  ts: 'js',
  python: 'python',
  go: 'go',
};

/** A call of the reference, which is written without the client. */
const isCallOf = (code: string): boolean =>
  document.body.classList.contains('reference') &&
  /\bsvc\.|\bclient\./.test(code) &&
  !/\bsvc = |\bclient, err := /.test(code);

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
  const language = languages[/language-(\w+)/.exec(block?.className ?? '')?.[1] ?? ''];
  if (!language) return code;
  const sample = { code, language, isCall: language !== 'sh' && isCallOf(code) };
  const key = usesKey(sample) ? await keyOfReader().catch(() => undefined) : undefined;
  return filledSample(sample, { url: location.origin, key });
}
