import { type ReactNode, useContext, useEffect } from 'react';
import { ApiError } from '../api.ts';
import { productName } from '../brand.ts';
import { useFirstData } from '../data.ts';
import { guideOf } from '../navigation.ts';
import { rememberPlace } from '../recent.ts';
import { SignedInContext } from '../session.ts';
import { common } from '../texts/common.ts';
import { Button, LinkButton } from './button.tsx';
import { Empty } from './empty.tsx';
import { ErrorNote } from './form.tsx';
import { Icon } from './icons.tsx';
import { Missing } from './missing.tsx';
import { Link, useLocation } from '../routing.tsx';

interface PageProps {
  readonly title: string;
  readonly lead?: ReactNode;
  readonly badge?: ReactNode;
  readonly actions?: ReactNode;
  readonly back?: { readonly to: string; readonly label: string };
  readonly children: ReactNode;
}

/** Lists and the pages of objects have the same edges, so that nothing jumps between them. Forms keep a width that is easy to read. */
export function Page({ title, lead, badge, actions, back, children }: PageProps) {
  const { pathname } = useLocation();
  const guide = back ? undefined : guideOf(pathname);
  const companyId = useContext(SignedInContext)?.company.id;
  const list = back?.label;
  useEffect(() => {
    document.title = `${title} · ${productName}`;
    // Only objects have a number in their address.
    if (companyId && list && /\d/.test(pathname)) rememberPlace(companyId, { to: pathname, title, subtitle: list });
  }, [title, companyId, list, pathname]);
  return (
    <div className="mx-auto max-w-[100rem] px-4 py-6 sm:px-8">
      {back && (
        <Link to={back.to} className="link mb-2 inline-flex items-center gap-1 text-sm">
          <Icon name="left" size={14} />
          {back.label}
        </Link>
      )}
      <header className="mb-6 flex flex-wrap items-start justify-between gap-x-6 gap-y-3">
        <div className="min-w-0">
          <div className="flex flex-wrap items-center gap-x-3 gap-y-1">
            <h1 className="text-2xl font-semibold tracking-tight wrap-anywhere">{title}</h1>
            {badge}
          </div>
          {(lead || guide) && (
            <div className="mt-1 max-w-3xl text-muted wrap-anywhere">
              {lead}{' '}
              {guide && (
                <a href={`/docs/${guide}`} className="link underline whitespace-nowrap">
                  {common.guide}
                </a>
              )}
            </div>
          )}
        </div>
        {actions && <div className="flex flex-wrap gap-2">{actions}</div>}
      </header>
      {children}
    </div>
  );
}

/** A section of a page. It has no border: space and the title set it apart. */
export function Panel({ title, actions, children }: { title?: string; actions?: ReactNode; children: ReactNode }) {
  return (
    <section className="mb-8 min-w-0">
      {title && (
        <header className="mb-2 flex min-h-8 flex-wrap items-center justify-between gap-3">
          <h2 className="text-lg font-semibold">{title}</h2>
          {actions && <div className="flex flex-wrap gap-2">{actions}</div>}
        </header>
      )}
      {children}
    </section>
  );
}

/** The details of an object: names and values. */
export function Facts({
  facts,
}: {
  facts: readonly (readonly [label: string, value: ReactNode] | false | null | undefined)[];
}) {
  return (
    <dl className="grid gap-x-6 gap-y-2.5 sm:grid-cols-[minmax(9rem,auto)_1fr]">
      {facts
        .filter((fact) => fact !== false && fact !== null && fact !== undefined)
        .map(([label, value]) => (
          <div key={label} className="contents">
            <dt className="text-muted">{label}</dt>
            <dd className="min-w-0 break-words max-sm:-mt-2.5">{value ?? '—'}</dd>
          </div>
        ))}
    </dl>
  );
}

export function Skeleton({ lines = 4 }: { lines?: number }) {
  return (
    <div role="status" aria-label={common.loading} className="flex flex-col gap-3">
      {Array.from({ length: lines }, (_, index) => (
        <span key={index} className={`skeleton ${['w-2/3', 'w-full', 'w-1/2', 'w-5/6'][index % 4]}`} />
      ))}
    </div>
  );
}

interface Loaded<T> {
  readonly data: T | undefined;
  readonly error: Error | null;
  readonly refetch: () => unknown;
}

interface LoadProps<T> {
  readonly query: Loaded<T>;
  readonly children: (data: T) => ReactNode;
}

/** Shows an object, or its loading or error state. */
export function Load<T>({ query, children, lines }: LoadProps<T> & { readonly lines?: number }) {
  if (query.data !== undefined) return children(query.data);
  if (query.error) return <Failure error={query.error} retry={() => void query.refetch()} />;
  return lines === undefined ? <Loading /> : <Loading lines={lines} />;
}

const Loading = ({ lines = 8 }: { lines?: number }) => (
  <div className="mx-auto max-w-[100rem] p-8">
    <Skeleton lines={lines} />
  </div>
);

/**
 * Shows the page of an object whose parts load on their own: they load unseen, and all appear at once, so that none pushes down
 * another one. The path is that of the object.
 */
export function LoadWhole<T>({ query, path, children }: LoadProps<T> & { readonly path: string }) {
  const isThere = useFirstData(path, query.data !== undefined);
  return (
    <Load query={query}>
      {(data) => (
        <>
          {!isThere && <Loading />}
          <div className={isThere ? '' : 'invisible h-0 overflow-hidden'}>{children(data)}</div>
        </>
      )}
    </Load>
  );
}

export function Failure({ error, retry }: { error: Error; retry?: () => void }) {
  const refused = error instanceof ApiError && error.status === 403;
  if (error instanceof ApiError && error.status === 404) return <Missing />;
  if (refused) {
    return (
      <Empty title={common.refusedTitle} actions={<LinkButton to="/home">{common.toHome}</LinkButton>}>
        <p>{`${error.message} ${common.refusedHint}`}</p>
      </Empty>
    );
  }
  return (
    <div className="mx-auto flex max-w-xl flex-col items-start gap-3 p-6">
      <ErrorNote error={error} />
      {retry && <Button onClick={retry}>{common.tryAgain}</Button>}
    </div>
  );
}
