import { classicScript, readSource } from '../sdk/browser/bundle.ts';

/** The files of the pages that customers see. A release contains them ready-made: it replaces this module. */

const own = (name: string): URL => new URL(name, import.meta.url);

const sharedScripts = [
  'page-texts',
  'dom',
  'money',
  'colors',
  'header',
  'requests',
  'inputs',
  'periods',
  'saved-cards',
  'card-picker',
  'outcome',
  'at-bank',
].map((name) => own(`shared/${name}.ts`));
const cardFields = ['src/frame.ts', 'src/svc.ts'];

const checkoutScripts = [
  '../server/platform/countries.ts',
  ...[
    'texts',
    'plan-texts',
    'phone',
    'summary',
    'cart',
    'contact',
    'agreement',
    'prover',
    'outcome',
    'preview',
    'checkout',
  ].map((name) => `checkout/${name}.ts`),
];

const confirmScripts = ['texts', 'confirm'].map((name) => `confirm/${name}.ts`);

const declareScripts = ['texts', 'declare'].map((name) => `declare/${name}.ts`);

const setupScripts = ['texts', 'setup'].map((name) => `setup/${name}.ts`);

/** What differs between the pages that have one form and its outcome. */
interface SingleParts {
  /** What the page loads first. */
  readonly data: string;
  /** The button beside the link of the outcome. */
  readonly other: string;
  readonly receipt: string;
}

const confirmParts: SingleParts = {
  data: '{{token}}/payment',
  other: '{{texts.payOtherwise}}',
  receipt: '{{texts.receipt}}',
};
const setupParts: SingleParts = { data: '../checkout/{{token}}/setup', other: '{{texts.another}}', receipt: '' };

/** One document for two addresses. */
const declareParts: SingleParts = { data: '{{token}}/company', other: '', receipt: '' };

const customerScripts = ['texts', 'saying', 'subscriptions', 'life', 'plan-change', 'payments', 'customer'].map(
  (name) => `customer/${name}.ts`,
);

const docsScripts = [
  'texts',
  'elements',
  'trial-key',
  'filled-samples',
  'own-samples',
  'reading',
  'ranking',
  'search',
  'try-it',
  'docs',
].map((name) => `docs/${name}.ts`);

const make = {
  'checkout.js': () => script(checkoutScripts),
  'checkout.css': () => style('checkout/checkout.css'),
  'checkout.html': () => document(readSource(own('checkout/checkout.html'))),
  'confirm.js': () => script(confirmScripts),
  'confirm.css': () => style('shared/single.css'),
  'confirm.html': () => document(single('confirm', confirmParts)),
  'setup.js': () => script(setupScripts),
  'setup.css': () => style('shared/single.css'),
  'setup.html': () => document(single('setup', setupParts)),
  'declare.js': () => script(declareScripts),
  'declare.css': () => style('shared/single.css'),
  'declare.html': () => document(single('declare', declareParts)),
  'customer.js': () => script(customerScripts),
  'customer.css': () => style('customer/customer.css'),
  'customer.html': () => document(readSource(own('customer/customer.html'))),
  'closed.css': () => style('closed/closed.css'),
  'closed.html': () => document(readSource(own('closed/closed.html'))),
  'docs.js': () => classicScript(docsScripts.map(own)),
  'font.css': () => readSource(own('shared/font.css')),
  'card-font.css': () => fontFrom('.'),
  'tokens.css': () => readSource(own('shared/tokens.css')) + pageFile('font.css'),
  'docs.css': () => pageFile('tokens.css') + readSource(own('docs/docs.css')),
  'mailbox.js': () => classicScript([own('mailbox/mailbox.ts')]),
  'mailbox.css': () => pageFile('tokens.css') + readSource(own('mailbox/mailbox.css')),
  'theme.js': () => classicScript([own('docs/theme.ts')]),
  'card-brands.svg': () => `<svg xmlns="http://www.w3.org/2000/svg">${readSource('src/brands.svg')}</svg>`,
  'logo.svg': () => readSource(own('shared/logo.svg')),
  'proof.js': () => classicScript(['checkout/proof.ts', 'checkout/proof-worker.ts'].map(own)),
} as const;

type PageFile = keyof typeof make;

export const pageFileNames = Object.keys(make) as PageFile[];

export function pageFile(name: PageFile): string {
  return make[name]();
}

function style(...names: readonly string[]): string {
  const tokens = withoutLightDark(readSource(own('shared/tokens.css')));
  const parts = ['shared/page.css', ...names].map((name) => readSource(own(name)));
  return compact(tokens + fontFrom('..') + parts.join('\n'));
}

/** Without comments and indentation, which are a tenth of what a visitor would load. */
const compact = (styles: string): string => styles.replaceAll(/\/\*[^]*?\*\//g, '').replaceAll(/\n\s+/g, '\n');

/** The font by an address relative to the style, so that a path in front of the service does not matter. */
const fontFrom = (folder: string): string => pageFile('font.css').replaceAll('"/fonts/', `"${folder}/fonts/`);

/** Customers pay with older browsers too, which do not have the function `light-dark`. Their pages follow the system. */
function withoutLightDark(tokens: string): string {
  const pattern = /^(\s*--[\w-]+: )light-dark\((.+), (.+)\);$/gm;
  const dark = [...tokens.matchAll(pattern)].map(([, name, , value]) => `${name}${value};`);
  const light = tokens.replaceAll(pattern, '$1$2;');
  return `${light}\n@media (prefers-color-scheme: dark) {\n:root {\n${dark.join('\n')}\n}\n}\n`;
}

function script(names: readonly string[]): string {
  const server = ['platform/currencies', 'customer-texts/messages', 'customer-texts/periods'].map((name) =>
    own(`../server/${name}.ts`),
  );
  return classicScript([...cardFields, ...server, ...sharedScripts, ...names.map(own)]);
}

/** The frame of a page that has one form, with its parts. */
function single(page: 'confirm' | 'declare' | 'setup', given: SingleParts): string {
  const parts = { ...given, page, form: readSource(own(`${page}/${page}.html`)) };
  return readSource(own('shared/single.html')).replaceAll(
    /\{\{(data|other|receipt|page|form)\}\}/g,
    (_place, name: keyof typeof parts) => parts[name],
  );
}

/** Fills in the drawings. The texts of a language, and what differs between requests, stay open: the nonce, for example. */
function document(text: string): string {
  const drawings = readSource('src/brands.svg') + readSource(own('shared/icons.svg'));
  return text
    .replace('{{symbols}}', `<svg class="symbols" aria-hidden="true">${drawings}</svg>`)
    .replaceAll(/\n\s+/g, '\n');
}
