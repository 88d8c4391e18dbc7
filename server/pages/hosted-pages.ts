import type { FastifyInstance } from 'fastify';
import { pageFile } from '../../pages/page-files.ts';
import { ApiError } from '../errors.ts';
import { asset, mountAsset, once, scriptType, sendPage, styleType, versionOf } from './assets.ts';
import { closedStyle } from './closed-page.ts';

/** The pages that a merchant's customers see. Each is the same document for every link; the page loads its data. */

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
  for (const name of ['checkout', 'confirm', 'customer'] as const) {
    const script = asset(scriptType, () => pageFile(`${name}.js`));
    const style = asset(styleType, () => pageFile(`${name}.css`));
    mountAsset(app, `/pages/${name}.js`, script);
    mountAsset(app, `/pages/${name}.css`, style);
    const page = once(() => pageFile(`${name}.html`).replaceAll('{{version}}', versionOf(script, style, proof)));
    app.get<{ Params: { token: string } }>(`/${name}/:token`, (request, reply) => {
      const { token } = request.params;
      if (!/^[0-9A-Za-z]+$/.test(token)) throw new ApiError('resource_not_found', 'This path does not exist.');
      return sendPage(reply, page().replaceAll('{{token}}', token), { policy, imageSources });
    });
    if (name === 'checkout') mountPreview(app, page, imageSources);
  }
}

/**
 * The checkout page without a session, for the dashboard: the dashboard shows it in a frame and gives it drafts. It is the only one of
 * these pages that can be shown in a frame, and only by pages of this service.
 */
function mountPreview(app: FastifyInstance, page: () => string, imageSources: readonly string[]): void {
  const preview = once(() =>
    page()
      .replace(/<link rel="preload" href="{{token}}[^>]*>/, '')
      .replace('<body ', '<body data-preview '),
  );
  app.get('/checkout/preview', (_request, reply) =>
    sendPage(reply, preview(), { policy: policyFor("'self'"), imageSources }),
  );
}
