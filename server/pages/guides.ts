import { globSync, readFileSync } from 'node:fs';
import type { FastifyInstance } from 'fastify';
import { ApiError } from '../errors.ts';
import { mountAsset } from './assets.ts';
import type { Brand } from './brand.ts';
import { groupsOf, guidePage, guidesFolder, pathOf, readGuide } from './docs/guide-pages.ts';
import { guideTexts } from './docs/guide-texts.ts';
import { guideList, plainGuide } from './docs/plain-guides.ts';
import { docsScript, docsStyle, htmlType, sendDocs, type Shown, shown, themeScript } from './docs/layout.ts';
import type { ReferenceEntry } from './docs/reference-pages.ts';
import { searchEntries } from './docs/search.ts';

/**
 * The guides: `/docs` shows docs/README.md, `/docs/cards` docs/cards.md. The list of files is read once and only those
 * are opened, so that no path of a request becomes a path on the disk.
 */

export function mountGuides(
  app: FastifyInstance,
  brand: Brand,
  baseUrl: string,
  reference: () => readonly ReferenceEntry[],
): void {
  let guides: Promise<Guides> | undefined;
  const open = (): Promise<Guides> => {
    guides ??= openGuides(brand.name, baseUrl, reference);
    return guides;
  };
  const find = async (path: string): Promise<Shown> => (await open()).find(path) ?? nothingHere();
  mountAsset(app, '/docs/docs.css', docsStyle);
  mountAsset(app, '/docs/docs.js', docsScript);
  mountAsset(app, '/docs/theme.js', themeScript);
  app.get('/docs', async (request, reply) => sendDocs(request, reply, await find('')));
  app.get('/docs/', (_request, reply) => reply.redirect('/docs'));
  app.get('/docs/search.json', async (request, reply) => sendDocs(request, reply, await (await open()).index()));
  app.get('/llms.txt', async (request, reply) => sendDocs(request, reply, (await open()).list));
  app.get<{ Params: { '*': string } }>('/docs/*', async (request, reply) =>
    sendDocs(request, reply, await find(request.params['*'])),
  );
}

function nothingHere(): never {
  throw new ApiError('resource_not_found', 'This guide does not exist. /docs lists all guides.');
}

const textType = 'text/markdown; charset=utf-8';

interface Guides {
  /** Finds a page by the path after `/docs/`. */
  find(path: string): Shown | undefined;
  index(): Promise<Shown>;
  /** All guides with their addresses as markdown. */
  readonly list: Shown;
}

/** Loads the guides on first use. */
async function openGuides(
  brandName: string,
  baseUrl: string,
  reference: () => readonly ReferenceEntry[],
): Promise<Guides> {
  const { Marked } = await import('marked');
  const markdown = new Marked();
  const names = globSync(['**/*.md', 'pictures/*.png'], { cwd: guidesFolder });
  const files = new Map(names.map((file) => [pathOf(file), file]));
  const groups = groupsOf(markdown.lexer(readGuide('README.md')), files);
  const read = guideTexts(baseUrl, groups);
  const known = new Map<string, Shown>();
  let index: Promise<Shown> | undefined;
  const pageOf = (file: string): Shown =>
    file.endsWith('.png')
      ? { contentType: 'image/png', body: readFileSync(new URL(file, guidesFolder)) }
      : shown(htmlType, guidePage(markdown, file, { read, files, groups, brandName }));
  return {
    find(path) {
      const asText = names.includes(path) && path.endsWith('.md');
      const file = asText ? path : files.get(path);
      if (file && !known.has(path)) known.set(path, asText ? shown(textType, plainGuide(read(file))) : pageOf(file));
      return known.get(path);
    },
    list: shown(textType, guideList(brandName, baseUrl, groups, files)),
    index() {
      index ??= searchEntries(markdown, read, groups, files, reference()).then((entries) =>
        shown('application/json; charset=utf-8', JSON.stringify(entries)),
      );
      return index;
    },
  };
}
