import { escaped } from '../../platform/html.ts';

/**
 * Colors code when a page is written, so that a browser needs no script for it. Each language is a table of what its parts
 * look like; the first pattern that fits at a position wins, and everything else stays plain.
 */

type Part = readonly [name: 'comment' | 'text' | 'word' | 'number' | 'name' | 'value', pattern: RegExp];

const quoted = /"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'/y;
const number = /\b\d[\d_]*(?:\.\d+)?\b/y;

const script: readonly Part[] = [
  ['comment', /\/\/.*|\/\*[\s\S]*?\*\//y],
  ['text', /"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'|`(?:[^`\\]|\\.)*`/y],
  [
    'word',
    /\b(?:async|await|break|case|catch|class|const|continue|default|else|export|finally|for|from|function|if|import|in|let|new|of|return|switch|throw|try|type|interface|typeof|while)\b/y,
  ],
  ['value', /\b(?:true|false|null|undefined)\b/y],
  ['name', /\b[a-zA-Z_$][\w$]*(?=\()/y],
  ['number', number],
];

const shell: readonly Part[] = [
  ['comment', /(?<=^|\s)#.*/my],
  ['text', /"(?:[^"\\]|\\[\s\S])*"|'[^']*'/y],
  ['value', /\$\{[^}]*\}|\$\w+/y],
  ['word', /\b(?:export|if|then|fi|for|do|done|in|while|exec)\b/y],
  ['name', /(?<=(?:^|[|;&(]|&&)[ \t]*)[a-z][\w./-]*(?=\s|$)/my],
  ['number', /(?<=\s)--?[a-zA-Z][\w-]*/y],
];

const languages: Readonly<Record<string, readonly Part[]>> = {
  sh: shell,
  bash: shell,
  js: script,
  ts: script,
  python: [
    ['comment', /#.*/y],
    ['text', quoted],
    ['word', /\b(?:as|async|await|def|elif|else|except|for|from|if|import|in|is|not|raise|return|try|with)\b/y],
    ['value', /\b(?:True|False|None)\b/y],
    ['name', /\b[a-zA-Z_]\w*(?=\()/y],
    ['number', number],
  ],
  go: [
    ['comment', /\/\/.*/y],
    ['text', /"(?:[^"\\\n]|\\.)*"|`[^`]*`/y],
    [
      'word',
      /\b(?:break|case|const|continue|defer|else|for|func|go|if|import|map|package|range|return|struct|switch|type|var)\b/y,
    ],
    ['value', /\b(?:true|false|nil)\b/y],
    ['name', /\b[a-zA-Z_]\w*(?=\()/y],
    ['number', number],
  ],
  json: [
    ['name', /"(?:[^"\\\n]|\\.)*"(?=\s*:)/y],
    ['text', /"(?:[^"\\\n]|\\.)*"/y],
    ['value', /\b(?:true|false|null)\b/y],
    ['number', /-?\b\d+(?:\.\d+)?\b/y],
  ],
  sql: [
    ['comment', /--.*/y],
    ['text', /'(?:[^']|'')*'/y],
    [
      'word',
      /\b(?:SELECT|FROM|WHERE|AND|OR|NOT|NULL|IS|IN|AS|ON|JOIN|LEFT|GROUP|ORDER|BY|LIMIT|INSERT|INTO|VALUES|UPDATE|SET|DELETE|CREATE|ALTER|TABLE|ROLE|GRANT|TO|WITH|DATABASE|USER|PASSWORD|OWNER)\b/iy,
    ],
    ['number', number],
  ],
  yaml: [
    ['comment', /(?<=^|\s)#.*/my],
    ['name', /[\w./-]+(?=:(?:\s|$))/my],
    ['text', quoted],
    ['number', number],
  ],
  html: [
    ['comment', /<!--[\s\S]*?-->/y],
    ['word', /<\/?[a-z][\w-]*|\/?>/y],
    ['text', quoted],
    ['name', /[a-z-]+(?==")/y],
  ],
};

export function highlighted(code: string, language: string): string {
  const parts = languages[language];
  if (!parts) return escaped(code);
  let html = '';
  let plain = '';
  let at = 0;
  while (at < code.length) {
    const found = partAt(code, at, parts);
    if (found) {
      html += `${escaped(plain)}<span class="c-${found.name}">${escaped(found.text)}</span>`;
      plain = '';
      at += found.text.length;
    } else {
      plain += code[at];
      at += 1;
    }
  }
  return html + escaped(plain);
}

function partAt(code: string, at: number, parts: readonly Part[]): { name: Part[0]; text: string } | undefined {
  for (const [name, pattern] of parts) {
    pattern.lastIndex = at;
    const text = pattern.exec(code)?.[0];
    if (text) return { name, text };
  }
  return undefined;
}

const labels: Readonly<Record<string, string>> = {
  sh: 'Shell',
  bash: 'Shell',
  js: 'JavaScript',
  ts: 'TypeScript',
  python: 'Python',
  go: 'Go',
  json: 'JSON',
  sql: 'SQL',
  html: 'HTML',
  yaml: 'YAML',
  text: 'Output',
};

/** A block of code with the name of its language and a button that copies it. The button appears if scripts run. */
export function codeBlock(code: string, language: string, title = labels[language] ?? 'Text'): string {
  return (
    `<figure class="code"><figcaption><span>${escaped(title)}</span>` +
    `<button class="copy" type="button" hidden>Copy</button></figcaption>` +
    `<pre tabindex="0"><code${language && ` class="language-${escaped(language)}"`}>${highlighted(code, language)}\n</code></pre></figure>`
  );
}

export interface Sample {
  readonly name: string;
  readonly language: string;
  readonly code: string;
}

/** The same thing in several languages. All of them are shown below each other until a script makes tabs of them. */
export function sampleTabs(samples: readonly Sample[]): string {
  const blocks = samples.map(
    ({ name, language, code }) => `<div data-tab="${escaped(name)}">${codeBlock(code, language, name)}</div>`,
  );
  return `<div class="tabs">${blocks.join('')}</div>`;
}
