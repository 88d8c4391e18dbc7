import { common } from '../texts/common.ts';
import { Button, TextLink } from './button.tsx';
import { ErrorNote } from './form.tsx';

export function NotFound() {
  return (
    <main className="mx-auto max-w-xl px-6 py-24 text-center">
      <h1 className="text-2xl font-semibold">{common.pageMissing}</h1>
      <p className="mt-3 text-muted">{common.pageMissingHint}</p>
      <p className="mt-3">
        <TextLink to="/">{common.toHome}</TextLink>
      </p>
    </main>
  );
}

export function Crash({ error }: { error: unknown }) {
  return (
    <main className="mx-auto flex max-w-xl flex-col items-start gap-4 px-6 py-24">
      <h1 className="text-2xl font-semibold">{common.crashed}</h1>
      <ErrorNote error={error instanceof Error ? error : new Error(String(error))} />
      <Button onClick={() => location.reload()}>{common.reload}</Button>
    </main>
  );
}
