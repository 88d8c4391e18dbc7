import { consents as texts } from '../texts/consents.ts';
import type { Order } from '../types.ts';
import { DateTime } from './date-time.tsx';
import { Panel } from './page.tsx';

type Shown = NonNullable<Order['consents']>;

/** What the customer agreed to on the checkout page, as it was shown. */
export function Consents({ consents = [] }: { consents?: Shown | undefined }) {
  if (consents.length === 0) return null;
  return (
    <Panel title={texts.title}>
      <ul className="flex flex-col gap-4">
        {consents.map(({ kind, text, version, locale, url, given_at }) => (
          <li key={kind}>
            <p className="font-medium">{texts.kinds[kind]}</p>
            <blockquote lang={locale} className="my-1 border-l-2 border-line pl-3">
              {text}
            </blockquote>
            <p className="text-sm text-muted">
              <DateTime at={given_at} /> · {texts.versionOf(version, locale)}
              {url !== null && (
                <>
                  {' · '}
                  <a className="link" href={url} target="_blank" rel="noopener noreferrer">
                    {texts.terms}
                  </a>
                </>
              )}
            </p>
          </li>
        ))}
      </ul>
    </Panel>
  );
}
