import type { FastifyInstance } from 'fastify';
import { pageFile } from '../../pages/page-files.ts';
import { browserFile } from '../../sdk/browser/files.ts';
import { defaultLocale, languageOf, localeOfTag } from '../customer-texts/languages.ts';
import { textsFor } from '../customer-texts/texts.ts';
import { asset, mountAsset, once, scriptType, sendPage, styleType, versionOf } from './assets.ts';
import { inLocale, withTexts } from './page-document.ts';

/** Card capture in the browser: the SDK, and the frame with the card fields. */
export async function mountCardFields(app: FastifyInstance): Promise<void> {
  mountAsset(
    app,
    '/svc.js',
    asset(scriptType, () => browserFile('svc.js')),
  );
  mountFields(app);
}

function mountFields(app: FastifyInstance): void {
  const script = asset(scriptType, () => browserFile('card-fields.js'));
  // A browser loads the font only where a theme names it, as our own pages do.
  const style = asset(styleType, () => browserFile('card-fields.css') + pageFile('card-font.css'));
  mountAsset(app, '/card-fields.js', script);
  mountAsset(app, '/card-fields.css', style);

  const page = once(() => browserFile('card-fields.html').replaceAll('{{version}}', versionOf(script, style)));
  app.get('/card-fields', async (request, reply) => {
    const { language } = request.query as { readonly language?: unknown };
    const locale = (typeof language === 'string' && localeOfTag(language)) || defaultLocale;
    // The script has the English texts, and shows what the service says about a field.
    const texts = languageOf(locale) === defaultLocale ? {} : (await textsFor(locale)).card;
    // Any merchant may embed the fields; pages with cross-origin isolation require the last two headers.
    reply.header('Cross-Origin-Resource-Policy', 'cross-origin').header('Cross-Origin-Embedder-Policy', 'require-corp');
    return sendPage(reply, inLocale(withTexts(page(), texts), locale), {
      policy: "font-src 'self'; frame-ancestors *; require-trusted-types-for 'script'; trusted-types 'none'",
    });
  });
}
