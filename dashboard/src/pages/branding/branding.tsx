import { unsentEmails } from '../../brand.ts';
import { CopyButton } from '../../components/copy.tsx';
import { CheckField, NumberField, TextField } from '../../components/fields.tsx';
import { Form } from '../../components/form.tsx';
import { UnsentEmails } from '../../components/mailbox-link.tsx';
import { Load, Page, Panel } from '../../components/page.tsx';
import { toast } from '../../components/toasts.tsx';
import { useGet } from '../../data.ts';
import { useCan } from '../../session.ts';
import { useEditForm } from '../../components/edit-form.tsx';
import { type Body, editedFields } from '../../edits.ts';
import { branding } from '../../texts/branding.ts';
import { common } from '../../texts/common.ts';
import { settings } from '../../texts/settings.ts';
import type { Profile } from '../../types.ts';
import { BrandForm } from './brand-form.tsx';
import { Preview } from './email-preview.tsx';

export function BrandingPage() {
  const query = useGet<Profile>('/dashboard/profile');
  const canWrite = useCan('company:write');
  const canReadOrders = useCan('orders:read');
  return (
    <Load query={query}>
      {(profile) => (
        <Page title={branding.title} lead={branding.lead} back={{ to: '/settings', label: settings.title }}>
          {!canWrite && <p className="mb-4 text-muted">{common.notAllowed}</p>}
          <fieldset disabled={!canWrite}>
            <BrandForm profile={profile} canWrite={canWrite} />
            <div className="grid items-start gap-x-10 lg:grid-cols-2">
              <Emails profile={profile} />
              <CustomerPage profile={profile} />
            </div>
          </fieldset>
          {canReadOrders && <Preview />}
        </Page>
      )}
    </Load>
  );
}

const profilePath = { path: '/dashboard/profile', audit: { action: 'updateProfile' } } as const;
const saved = (): void => toast(common.saved);

const kinds = Object.entries(branding.kinds) as [keyof typeof branding.kinds, string][];

/** Each setting is changed on its own. */
const within = (name: string, parts: object): Body =>
  Object.fromEntries(Object.entries(parts).map(([part, value]) => [`${name}.${part}`, value]));

const emailDraft = ({ emails }: Profile) => ({
  ...emails,
  upcoming_renewal_days: String(emails.upcoming_renewal_days),
  from_name: emails.from_name ?? '',
  reply_to: emails.reply_to ?? '',
});

const emailFields = editedFields<ReturnType<typeof emailDraft>>({
  enabled: branding.enabled,
  ...branding.kinds,
  upcoming_renewal_days: { label: branding.upcomingDays, path: 'emails.upcoming_renewal_days' },
  from_name: { label: branding.fromName, path: 'emails.from_name' },
  reply_to: { label: branding.replyTo, path: 'emails.reply_to' },
});

function Emails({ profile }: { readonly profile: Profile }) {
  const form = useEditForm({
    object: profile,
    ...profilePath,
    draftOf: (known) => emailDraft(known ?? profile),
    bodyOf: ({ from_name, reply_to, upcoming_renewal_days, ...rest }) =>
      within('emails', {
        ...rest,
        upcoming_renewal_days: Number(upcoming_renewal_days),
        from_name: from_name.trim() || null,
        reply_to: reply_to.trim() || null,
      }),
    fields: emailFields,
    onDone: saved,
  });
  return (
    <Panel title={branding.emails}>
      <Form form={form} submit={common.save}>
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
      </Form>
    </Panel>
  );
}

const pageDraft = ({ customer_page }: Profile) => ({
  ...customer_page,
  headline: customer_page.headline ?? '',
  return_url: customer_page.return_url ?? '',
});

const pageFields = editedFields<ReturnType<typeof pageDraft>>({
  allow_update_card: branding.allowUpdateCard,
  allow_end_renewal: branding.allowEndRenewal,
  allow_cancel: branding.allowCancel,
  headline: { label: branding.headline, path: 'customer_page.headline' },
  return_url: { label: branding.returnUrl, path: 'customer_page.return_url' },
});

function CustomerPage({ profile }: { readonly profile: Profile }) {
  const { customer_page_url } = profile;
  const form = useEditForm({
    object: profile,
    ...profilePath,
    draftOf: (known) => pageDraft(known ?? profile),
    bodyOf: ({ headline, return_url, ...rest }) =>
      within('customer_page', {
        ...rest,
        headline: headline.trim() || null,
        return_url: return_url.trim() || null,
      }),
    fields: pageFields,
    onDone: saved,
  });
  return (
    <Panel title={branding.customerPage}>
      <Form form={form} submit={common.save}>
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
        </div>
        <TextField form={form} name="headline" path="customer_page.headline" label={branding.headline} />
        <TextField
          form={form}
          name="return_url"
          path="customer_page.return_url"
          type="url"
          label={branding.returnUrl}
          hint={branding.returnUrlHint}
        />
      </Form>
    </Panel>
  );
}
