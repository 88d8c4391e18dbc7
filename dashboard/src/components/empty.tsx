import type { ReactNode } from 'react';
import { Drawing } from './drawing.tsx';

export function Empty({ title, children, actions }: { title: string; children?: ReactNode; actions?: ReactNode }) {
  return (
    <div className="mx-auto flex max-w-2xl flex-col items-center gap-3 px-5 py-12 text-center">
      <Drawing />
      <h2 className="text-lg font-semibold">{title}</h2>
      {children && <div className="flex w-full flex-col gap-3 text-muted [&_pre]:text-left">{children}</div>}
      {actions && <div className="mt-1 flex flex-wrap justify-center gap-2">{actions}</div>}
    </div>
  );
}
