import type { FastifyInstance } from 'fastify';
import { pageFile } from '../../pages/page-files.ts';
import { defaultLocale, languageOf } from '../customer-texts/languages.ts';
import { textsFor } from '../customer-texts/texts.ts';
import { ApiError } from '../errors.ts';
import { addressLocaleOf, askedLocaleOf, localeOfRequest, withLocale } from '../http/locale.ts';
import { asset, mountAsset, once, scriptType, sendPage, styleType, versionOf } from './assets.ts';
import { closedStyle } from './closed-page.ts';
import { inLocale, withTexts } from './page-document.ts';

/** The pages that a merchant's customers see. Each is the same document for every link; the page loads its data. */

/** The files and the texts of each page. */
const pages = {
  checkout: { file: 'checkout', texts: 'checkout' },
  confirm: { file: 'confirm', texts: 'confirm' },
  customer: { file: 'customer', texts: 'customer' },
  setup: { file: 'setup', texts: 'setup' },
  cancel: { file: 'declare', texts: 'declarations' },
  withdraw: { file: 'declare', texts: 'declarations' },
} as const;
type PageName = keyof typeof pages;

interface HostedPagesOptions {
  /** Where pictures and logos are stored. */
  readonly imageOrigin: string;
}

const policyFor = (ancestors: string): string =>
  `frame-src 'self'; font-src 'self'; worker-src 'self'; frame-ancestors ${ancestors}`;
const policy = policyFor("'none'");

export function mountHostedPages(app: FastifyInstance, { imageOrigin }: HostedPagesOptions): void {
  const imageSources = ["'self'", imageOrigin];
  const proof = asset(scriptType, () => pageFile('proof.js'));
  mountAsset(app, '/pages/proof.js', proof);
  mountAsset(app, '/pages/closed.css', closedStyle);
  for (const [name, { file }] of Object.entries(pages) as [PageName, (typeof pages)[PageName]][]) {
    const script = asset(scriptType, () => pageFile(`${file}.js`));
    const style = asset(styleType, () => pageFile(`${file}.css`));
    // Two pages are one document.
    if (name !== 'withdraw') {
      mountAsset(app, `/pages/${file}.js`, script);
      mountAsset(app, `/pages/${file}.css`, style);
    }
    const page = once(() => pageFile(`${file}.html`).replaceAll('{{version}}', versionOf(script, style, proof)));
    const documentIn = inLanguages(name, page);
    app.get<{ Params: { token: string } }>(`/${name}/:token`, async (request, reply) => {
      const { token } = request.params;
      if (!/^[0-9A-Za-z]+$/.test(token)) throw new ApiError('resource_not_found', 'This path does not exist.');
      const document = await documentIn(localeOfRequest(request));
      const query = withLocale('', addressLocaleOf(request));
      const filled = document.replaceAll('{{token}}', token).replaceAll('{{query}}', query);
      return sendPage(reply, filled, { policy, imageSources });
    });
    if (name === 'checkout') mountPreview(app, documentIn, imageSources);
  }
}

/** The document in a locale. That of each language is kept. */
function inLanguages(name: PageName, page: () => string): (locale: string) => Promise<string> {
  const documents = new Map<string, string>();
  return async (locale) => {
    const language = languageOf(locale) ?? defaultLocale;
    const document = documents.get(language) ?? withTexts(page(), (await textsFor(language))[pages[name].texts]);
    documents.set(language, document);
    return inLocale(document, locale);
  };
}

/**
 * The checkout page without a session, for the dashboard: the dashboard shows it in a frame and gives it drafts. It is the only one of
 * these pages that can be shown in a frame, and only by pages of this service.
 */
function mountPreview(
  app: FastifyInstance,
  documentIn: (locale: string) => Promise<string>,
  imageSources: readonly string[],
): void {
  app.get('/checkout/preview', async (request, reply) => {
    const document = (await documentIn(askedLocaleOf(request) ?? defaultLocale))
      .replace(/<link rel="preload" href="{{token}}[^>]*>/, '')
      .replace('<body ', '<body data-preview ');
    return sendPage(reply, document, { policy: policyFor("'self'"), imageSources });
  });
}
