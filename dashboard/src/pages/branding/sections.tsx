import { unsentEmails } from '../../brand.ts';
import { CountrySelect } from '../../components/choice-field.tsx';
import { CopyButton } from '../../components/copy.tsx';
import { CheckField, Field, FieldRow, NumberField, TextField } from '../../components/fields.tsx';
import type { FormState } from '../../components/form.tsx';
import { LanguageField } from '../../components/language-field.tsx';
import { UnsentEmails } from '../../components/mailbox-link.tsx';
import { branding } from '../../texts/branding.ts';
import type { Profile } from '../../types.ts';
import { type BrandingDraft, colorPattern, defaultColor, kinds } from './branding-draft.ts';
import { Logo } from './logo.tsx';

/** The sections of the branding page. They share one form. */

interface SectionProps {
  readonly form: FormState<BrandingDraft>;
  readonly profile: Profile;
}

export function BrandSection({ form, profile, canWrite }: SectionProps & { readonly canWrite: boolean }) {
  return (
    <>
      <TextField
        form={form}
        name="display_name"
        label={branding.displayName}
        hint={branding.displayNameHint}
        placeholder={profile.has_own_display_name ? undefined : profile.display_name}
      />
      <ColorField form={form} />
      <Logo profile={profile} canWrite={canWrite} />
      <FieldRow>
        <TextField form={form} name="support_email" type="email" label={branding.supportEmail} />
        <TextField form={form} name="website" type="url" label={branding.website} />
      </FieldRow>
      <LanguageField
        form={form}
        name="locale"
        label={branding.language}
        hint={branding.languageHint}
        none={branding.noLanguage}
      />
      <FieldRow>
        <TextField form={form} name="terms_url" type="url" label={branding.terms} hint={branding.termsHint} />
        <TextField form={form} name="terms_version" label={branding.termsVersion} hint={branding.termsVersionHint} />
      </FieldRow>
    </>
  );
}

function ColorField({ form }: Pick<SectionProps, 'form'>) {
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

export function ReceiptSection({ form }: Pick<SectionProps, 'form'>) {
  return (
    <>
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
    </>
  );
}

export function EmailSection({ form }: Pick<SectionProps, 'form'>) {
  return (
    <>
      {unsentEmails && (
        <p className="text-muted">
          <UnsentEmails />
        </p>
      )}
      <CheckField form={form} name="enabled" label={branding.enabled} hint={branding.enabledHint} />
      <div className="flex flex-col gap-1.5 border-l-2 border-line pl-4">
        {kinds.map(([kind, label]) => (
          <CheckField key={kind} form={form} name={kind} label={label} />
        ))}
      </div>
      <NumberField
        form={form}
        name="upcoming_renewal_days"
        path="emails.upcoming_renewal_days"
        label={branding.upcomingDays}
        hint={branding.upcomingDaysHint}
      />
      <TextField
        form={form}
        name="from_name"
        path="emails.from_name"
        label={branding.fromName}
        hint={branding.fromNameHint}
      />
      <TextField
        form={form}
        name="reply_to"
        path="emails.reply_to"
        type="email"
        label={branding.replyTo}
        hint={branding.replyToHint}
      />
    </>
  );
}

export function CustomerPageSection({ form, profile: { customer_page_url, cancel_url, withdraw_url } }: SectionProps) {
  return (
    <>
      <p className="text-muted">
        {branding.customerPageText}{' '}
        <a className="link" href={customer_page_url} target="_blank" rel="noreferrer">
          {branding.customerPageLink}
        </a>
      </p>
      <div>
        <CopyButton text={location.origin + customer_page_url} label={branding.customerPageCopy} />
      </div>
      <div className="flex flex-col gap-2">
        <CheckField form={form} name="allow_update_card" label={branding.allowUpdateCard} />
        <CheckField form={form} name="allow_end_renewal" label={branding.allowEndRenewal} />
        <CheckField form={form} name="allow_cancel" label={branding.allowCancel} />
        <CheckField
          form={form}
          name="accept_declarations"
          label={branding.acceptDeclarations}
          hint={branding.acceptDeclarationsHint}
        />
        <CheckField form={form} name="allow_pause" label={branding.allowPause} />
        <CheckField form={form} name="allow_subscribe_again" label={branding.allowSubscribeAgain} />
      </div>
      {form.draft.accept_declarations && (
        <div className="flex flex-wrap gap-2">
          <CopyButton text={location.origin + cancel_url} label={branding.copyCancel} />
          <CopyButton text={location.origin + withdraw_url} label={branding.copyWithdraw} />
        </div>
      )}
      <TextField form={form} name="headline" path="customer_page.headline" label={branding.headline} />
      <TextField
        form={form}
        name="return_url"
        path="customer_page.return_url"
        type="url"
        label={branding.returnUrl}
        hint={branding.returnUrlHint}
      />
    </>
  );
}
