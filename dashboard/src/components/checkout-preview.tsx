import { useEffect, useRef, useState } from 'react';
import { call } from '../api.ts';
import { useCan } from '../session.ts';
import { preview as texts } from '../texts/preview.ts';

/** What the form has so far, as `POST /dashboard/checkout_preview` takes it. */
export type CheckoutDraft = Readonly<Record<string, unknown>>;

/** The page is laid out at the width of a real screen, and then made smaller. */
const screens = {
  desktop: { width: 1200, height: 860 },
  phone: { width: 390, height: 760 },
} as const;
type Screen = keyof typeof screens;

const typingMs = 250;

/**
 * The checkout page as customers will see it, beside the form that changes it. It is the real page: the service computes what it shows
 * from the draft and stores nothing. The frame stays, so that nothing flickers while one types.
 */
interface PreviewProps {
  readonly draft: CheckoutDraft;
  /** The language of the page. Default: English. */
  readonly locale?: string;
}

export function CheckoutPreview({ draft, locale = '' }: PreviewProps) {
  const canRead = useCan('payment_links:read');
  // A page has one language, so another language is another page.
  return canRead ? <Preview key={locale} draft={locale ? { ...draft, locale } : draft} locale={locale} /> : null;
}

function Preview({ draft, locale }: PreviewProps) {
  const [screen, setScreen] = useState<Screen>(() => (innerWidth < 640 ? 'phone' : 'desktop'));
  const frame = useRef<HTMLIFrameElement>(null);
  const page = usePageOf(draft);
  const [isReady, setReady] = useState(false);
  const [place, scale] = useScale(screens[screen].width);
  useEffect(() => {
    const onMessage = ({ origin, source, data }: MessageEvent<{ preview?: string } | null>): void => {
      const isOurs = origin === location.origin && source === frame.current?.contentWindow;
      if (isOurs && data?.preview === 'ready') setReady(true);
    };
    addEventListener('message', onMessage);
    return () => removeEventListener('message', onMessage);
  }, []);
  useEffect(() => {
    if (isReady && page) frame.current?.contentWindow?.postMessage({ draft: page }, location.origin);
  }, [isReady, page]);
  const { width, height } = screens[screen];
  return (
    <section aria-label={texts.title} className="min-w-0">
      <header className="mb-2 flex min-h-8 items-center justify-between gap-3">
        <h2 className="text-lg font-semibold">{texts.title}</h2>
        <fieldset className="flex rounded-[8px] border border-line p-0.5">
          <legend className="sr-only">{texts.screen}</legend>
          {(Object.keys(screens) as Screen[]).map((name) => (
            <button
              key={name}
              type="button"
              aria-pressed={name === screen}
              onClick={() => setScreen(name)}
              className="rounded-[6px] px-2.5 py-1 text-sm font-medium text-muted aria-pressed:bg-accent-soft aria-pressed:text-accent-ink"
            >
              {texts.screens[name]}
            </button>
          ))}
        </fieldset>
      </header>
      <div ref={place} style={{ height: height * scale }} className="flex justify-center overflow-hidden">
        <div style={{ width: width * scale }} className="shrink-0 overflow-hidden rounded-[10px] border border-line">
          <iframe
            ref={frame}
            src={`/checkout/preview${locale && `?locale=${locale}`}`}
            title={texts.frame}
            tabIndex={-1}
            style={{ width, height, transform: `scale(${scale})`, transformOrigin: '0 0' }}
          />
        </div>
      </div>
      <p className="mt-2 text-sm text-muted">{texts.hint}</p>
    </section>
  );
}

/** What the page shows for the draft. While one types, or if the draft has a mistake, it is that of the draft before. */
function usePageOf(draft: CheckoutDraft): object | undefined {
  const [page, setPage] = useState<object>();
  const text = JSON.stringify(draft);
  const isFirst = useRef(true);
  useEffect(() => {
    let isCurrent = true;
    const ask = async (): Promise<void> => {
      const answer = await call<object>('POST', '/dashboard/checkout_preview', { body: JSON.parse(text) }).catch(
        () => undefined,
      );
      if (isCurrent && answer) setPage(answer);
    };
    const timer = setTimeout(() => void ask(), isFirst.current ? 0 : typingMs);
    isFirst.current = false;
    return () => {
      isCurrent = false;
      clearTimeout(timer);
    };
  }, [text]);
  return page;
}

/** How much smaller a screen of this width must be to fit. */
function useScale(width: number): readonly [React.RefObject<HTMLDivElement | null>, number] {
  const place = useRef<HTMLDivElement>(null);
  const [room, setRoom] = useState(0);
  useEffect(() => {
    const observer = new ResizeObserver(([entry]) => setRoom(entry?.contentRect.width ?? 0));
    if (place.current) observer.observe(place.current);
    return () => observer.disconnect();
  }, []);
  return [place, room === 0 ? 0.5 : Math.min(1, room / width)];
}
