import { classicScript, readSource, sources } from './bundle.ts';

/** The files of this package that the service serves. A release contains them ready-made: it replaces this module. */

const make = {
  'svc.js': () => classicScript(sources.svc, ['Svc']),
  'card-fields.js': () => classicScript(sources.cardFields),
  'card-fields.css': () => readSource('src/card-fields.css'),
  'card-fields.html': () => readSource('src/card-fields.html').replace('{{brands}}', readSource('src/brands.svg')),
} as const;

type BrowserFile = keyof typeof make;

export const browserFileNames = Object.keys(make) as BrowserFile[];

export function browserFile(name: BrowserFile): string {
  return make[name]();
}
