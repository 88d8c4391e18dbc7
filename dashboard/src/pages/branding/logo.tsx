import { useQueryClient } from '@tanstack/react-query';
import { useRef, useState } from 'react';
import { ApiError, call, upload } from '../../api.ts';
import { Button } from '../../components/button.tsx';
import { ErrorNote, useAction } from '../../components/form.tsx';
import { toast } from '../../components/toasts.tsx';
import { branding } from '../../texts/branding.ts';
import { common } from '../../texts/common.ts';
import type { Profile } from '../../types.ts';

/** The logo is saved as soon as it is chosen. */
export function Logo({ profile, canWrite }: { readonly profile: Profile; readonly canWrite: boolean }) {
  const client = useQueryClient();
  const input = useRef<HTMLInputElement>(null);
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState<ApiError>();
  const remove = useAction<undefined, Profile>({
    send: (_, key) => call('DELETE', '/dashboard/profile/logo', { key }),
    onDone: () => toast(branding.logoDeleted),
  });
  async function add(file: File | undefined): Promise<void> {
    if (!file) return;
    setBusy(true);
    setProblem(undefined);
    try {
      await upload<Profile>('/dashboard/profile/logo', file, () => undefined);
      toast(branding.logoSaved);
    } catch (error) {
      if (error instanceof ApiError) setProblem(error);
    } finally {
      setBusy(false);
      void client.invalidateQueries();
    }
  }
  const error = problem ?? remove.error;
  const reason = canWrite ? undefined : common.notAllowed;
  return (
    <div>
      <p className="mb-1.5 font-medium">{branding.logo}</p>
      <div className="flex flex-wrap items-center gap-3">
        {profile.logo_url && (
          <img src={profile.logo_url} alt={branding.logo} className="max-h-20 max-w-60 rounded-[4px] bg-white p-1" />
        )}
        <Button busy={busy} reason={reason} onClick={() => input.current?.click()}>
          {profile.logo_url ? branding.replaceLogo : branding.uploadLogo}
        </Button>
        {profile.logo_url && (
          <Button kind="quiet" busy={remove.busy} reason={reason} onClick={() => void remove.run(undefined)}>
            {branding.deleteLogo}
          </Button>
        )}
        <input
          ref={input}
          type="file"
          accept="image/jpeg,image/png,image/gif"
          hidden
          aria-label={branding.uploadLogo}
          onChange={(event) => {
            void add(event.target.files?.[0]);
            event.target.value = '';
          }}
        />
      </div>
      <p className="mt-3 text-sm text-muted">{branding.logoHint}</p>
      {error && (
        <div className="mt-3">
          <ErrorNote error={error} />
        </div>
      )}
    </div>
  );
}
