import { type RefObject, useEffect, useRef, useState } from 'react';
import { useSignedIn } from '../session.ts';
import { useTheme } from '../theme.ts';
import { customers } from '../texts/customers.ts';

/** The hosted card fields. Card details go to the vault in an iframe, never through this page. */

export interface MountedFields {
  mount(target: Element): MountedFields;
  unmount(): void;
  createToken(): Promise<{ readonly id: string }>;
}

type SvcStart = (credential: { readonly session: string; readonly live: boolean }) => {
  cardFields(options: {
    readonly theme: { readonly mode: 'light' | 'dark'; readonly fontFamily: string };
  }): MountedFields;
};

let loading: Promise<SvcStart> | undefined;

function loadScript(): Promise<SvcStart> {
  loading ??= new Promise((resolve, reject) => {
    const script = document.createElement('script');
    script.src = '/svc.js';
    script.addEventListener('load', () => resolve((window as unknown as { readonly Svc: SvcStart }).Svc));
    script.addEventListener('error', () => {
      loading = undefined;
      reject(new Error(customers.fieldsNotLoaded));
    });
    document.head.append(script);
  });
  return loading;
}

export function CardFields({ fields }: { fields: RefObject<MountedFields | null> }) {
  const { company } = useSignedIn();
  const { dark } = useTheme();
  const place = useRef<HTMLDivElement>(null);
  const [problem, setProblem] = useState<string>();
  useEffect(() => {
    let gone = false;
    let mounted: MountedFields | undefined;
    loadScript().then(
      (Svc) => {
        if (gone || !place.current) return;
        mounted = Svc({ session: company.id, live: company.mode === 'live' }).cardFields({
          theme: { mode: dark ? 'dark' : 'light', fontFamily: getComputedStyle(document.body).fontFamily },
        });
        mounted.mount(place.current);
        fields.current = mounted;
      },
      (error: Error) => setProblem(error.message),
    );
    return () => {
      gone = true;
      mounted?.unmount();
      fields.current = null;
    };
  }, [company.id, company.mode, dark, fields]);
  return (
    <>
      <div ref={place} data-testid="card-fields" className="min-h-24" />
      {problem && <p className="text-bad">{problem}</p>}
    </>
  );
}
