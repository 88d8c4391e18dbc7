import { type ReactNode, useEffect } from 'react';
import { productName } from '../../brand.ts';
import { Logo } from '../../components/logo.tsx';

/** The frame of the pages before sign-in. */
export function AuthPage({
  title,
  lead,
  children,
  foot,
}: {
  title: string;
  lead?: ReactNode;
  children: ReactNode;
  foot?: ReactNode;
}) {
  useEffect(() => {
    document.title = `${title} · ${productName}`;
  }, [title]);
  return (
    <main className="flex min-h-dvh flex-col items-center justify-center bg-rail px-4 py-10">
      <div className="mb-6">
        <Logo />
      </div>
      <div className="panel w-full max-w-md p-6 shadow-pop sm:p-8">
        <h1 className="text-xl font-semibold">{title}</h1>
        {lead && <p className="mt-1.5 text-muted">{lead}</p>}
        <div className="mt-5">{children}</div>
      </div>
      {foot && <p className="mt-5 text-muted">{foot}</p>}
    </main>
  );
}
