import { useQueryClient } from '@tanstack/react-query';
import { useRef, useState } from 'react';
import { ApiError, call, upload } from '../../api.ts';
import { Button } from '../../components/button.tsx';
import { CountrySelect } from '../../components/choice-field.tsx';
import { Field, FieldRow, TextField } from '../../components/fields.tsx';
import { ErrorNote, Form, type FormState, useAction } from '../../components/form.tsx';
import { Panel } from '../../components/page.tsx';
import { toast } from '../../components/toasts.tsx';
import { textColorOn } from '../../../../server/features/profile/color.ts';
import { useEditForm } from '../../components/edit-form.tsx';
import { type Body, editedFields, shown } from '../../edits.ts';
import { branding } from '../../texts/branding.ts';
import { common } from '../../texts/common.ts';
import type { Profile } from '../../types.ts';

const defaultColor = '#4338ca';
const colorPattern = /^#[0-9a-f]{6}$/i;

interface Draft {
  display_name: string;
  color: string;
  support_email: string;
  website: string;
  line1: string;
  line2: string;
  city: string;
  state: string;
  postal_code: string;
  country: string;
  tax_id: string;
}

function draftOf(profile?: Profile): Draft {
  const address = profile?.address;
  return {
    display_name: profile?.has_own_display_name ? profile.display_name : '',
    color: profile?.color ?? '',
    support_email: profile?.support_email ?? '',
    website: profile?.website ?? '',
    line1: address?.line1 ?? '',
    line2: address?.line2 ?? '',
    city: address?.city ?? '',
    state: address?.state ?? '',
    postal_code: address?.postal_code ?? '',
    country: address?.country ?? '',
    tax_id: profile?.tax_id ?? '',
  };
}

function bodyOf({ display_name, color, support_email, website, tax_id, ...address }: Draft): Body {
  const set = (text: string): string | null => text.trim() || null;
  return {
    display_name: set(display_name),
    color: set(color),
    support_email: set(support_email),
    website: set(website),
    tax_id: set(tax_id),
    address: Object.fromEntries(Object.entries(address).map(([part, text]) => [part, set(text)])),
  };
}

const addressParts = ['line1', 'line2', 'city', 'state', 'postal_code', 'country'] as const;

const fields = editedFields<Draft>({
  display_name: branding.displayName,
  color: branding.color,
  support_email: branding.supportEmail,
  website: branding.website,
  address: {
    label: branding.address,
    of: addressParts,
    path: 'address.line1',
    show: (draft) => shown(addressParts.map((part) => draft[part].trim()).filter(Boolean)),
  },
  tax_id: branding.taxId,
});

export function BrandForm({ profile, canWrite }: { readonly profile: Profile; readonly canWrite: boolean }) {
  const form = useEditForm({
    object: profile,
    path: '/dashboard/profile',
    draftOf,
    bodyOf,
    fields,
    audit: { action: 'updateProfile' },
    check: ({ color }) => ({
      color: color === '' || colorPattern.test(color) ? undefined : branding.colorInvalid,
    }),
    onDone: () => toast(common.saved),
  });
  return (
    <div className="grid items-start gap-x-10 lg:grid-cols-2">
      <Panel title={branding.brand}>
        <Form form={form} submit={common.save}>
          <TextField
            form={form}
            name="display_name"
            label={branding.displayName}
            hint={branding.displayNameHint}
            placeholder={profile.has_own_display_name ? undefined : profile.display_name}
          />
          <ColorField form={form} />
          <FieldRow>
            <TextField form={form} name="support_email" type="email" label={branding.supportEmail} />
            <TextField form={form} name="website" type="url" label={branding.website} />
          </FieldRow>
          <TextField form={form} name="line1" path="address.line1" label={branding.line1} />
          <TextField form={form} name="line2" path="address.line2" label={branding.line2} />
          <FieldRow>
            <TextField form={form} name="postal_code" path="address.postal_code" label={branding.postalCode} />
            <TextField form={form} name="city" path="address.city" label={branding.city} />
            <TextField form={form} name="state" path="address.state" label={branding.state} />
            <CountrySelect
              label={branding.country}
              hint={branding.countryHint}
              name="country"
              error={form.errorOf('address.country')}
              value={form.draft.country}
              onChange={(country) => form.set('country', country)}
            />
          </FieldRow>
          <TextField form={form} name="tax_id" label={branding.taxId} hint={branding.taxIdHint} />
        </Form>
      </Panel>
      <div className="min-w-0">
        <Logo profile={profile} canWrite={canWrite} />
        <Preview draft={form.draft} profile={profile} />
      </div>
    </div>
  );
}

function ColorField({ form }: { readonly form: FormState<Draft> }) {
  const { color } = form.draft;
  return (
    <Field label={branding.color} hint={branding.colorHint} error={form.errorOf('color')}>
      {(attributes) => (
        <div className="flex gap-2">
          <input
            type="color"
            aria-label={branding.color}
            className="h-9.5 w-12 shrink-0 rounded-[8px] border border-line-strong bg-surface p-1"
            value={colorPattern.test(color) ? color : defaultColor}
            onChange={(event) => form.set('color', event.target.value)}
          />
          <input
            {...attributes}
            name="color"
            className="control font-mono"
            placeholder={defaultColor}
            value={color}
            onChange={(event) => form.set('color', event.target.value)}
          />
        </div>
      )}
    </Field>
  );
}

function Logo({ profile, canWrite }: { readonly profile: Profile; readonly canWrite: boolean }) {
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
    <Panel title={branding.logo}>
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
    </Panel>
  );
}

/** The brand as emails and pages show it, with what is typed and not saved yet. */
function Preview({ draft, profile }: { readonly draft: Draft; readonly profile: Profile }) {
  const color = colorPattern.test(draft.color) ? draft.color : defaultColor;
  const painted = { backgroundColor: color, color: textColorOn(color) };
  const name =
    draft.display_name.trim() || (profile.has_own_display_name ? branding.displayName : profile.display_name);
  return (
    <Panel title={branding.preview}>
      <div className="overflow-hidden rounded-[8px] border border-line bg-white text-[#1a1a1a]">
        <div className="flex items-center gap-3 px-5 py-4" style={painted}>
          {profile.logo_url && <img src={profile.logo_url} alt="" className="max-h-10 max-w-40 rounded bg-white p-1" />}
          <span className="min-w-0 truncate font-semibold">{name}</span>
        </div>
        <div className="flex flex-col items-start gap-3 px-5 py-5">
          <p className="font-semibold wrap-anywhere">
            {branding.previewTitle} {name}
          </p>
          <p>{branding.previewText}</p>
          <span className="rounded-[6px] px-3.5 py-2 text-sm font-medium" style={painted}>
            {branding.previewButton}
          </span>
          {draft.support_email && (
            <p className="text-sm wrap-anywhere text-[#555]">{branding.previewContact(draft.support_email)}</p>
          )}
        </div>
      </div>
    </Panel>
  );
}
