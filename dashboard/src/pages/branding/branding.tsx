import { useEffect, useState } from 'react';
import { defaultLocale, type Language, languageOf } from '../../../../server/customer-texts/languages.ts';
import { CheckoutPreview } from '../../components/checkout-preview.tsx';
import { useEditForm } from '../../components/edit-form.tsx';
import { Form, type FormState } from '../../components/form.tsx';
import { Load, Page } from '../../components/page.tsx';
import { Tabs } from '../../components/tabs.tsx';
import { toast } from '../../components/toasts.tsx';
import { useFilters, useGet } from '../../data.ts';
import { useCan } from '../../session.ts';
import { branding } from '../../texts/branding.ts';
import { common } from '../../texts/common.ts';
import { settings } from '../../texts/settings.ts';
import type { Profile } from '../../types.ts';
import { bodyOf, type BrandingDraft, check, colorPattern, draftOf, fields, sectionOf } from './branding-draft.ts';
import { Preview } from './email-preview.tsx';
import { BrandSection, CustomerPageSection, EmailSection, ReceiptSection } from './sections.tsx';
import { languageOfField, TextsSection } from './texts-section.tsx';

export function BrandingPage() {
  const query = useGet<Profile>('/dashboard/profile');
  return (
    <Load query={query}>
      {(profile) => (
        <Page title={branding.title} lead={branding.lead} back={{ to: '/settings', label: settings.title }}>
          <Branding profile={profile} />
        </Page>
      )}
    </Load>
  );
}

function Branding({ profile }: { readonly profile: Profile }) {
  const canWrite = useCan('company:write');
  const canReadOrders = useCan('orders:read');
  const [{ tab = 'brand' }] = useFilters();
  const [language, setLanguage] = useState(languageOf(profile.locale ?? '') ?? defaultLocale);
  const form = useEditForm({
    object: profile,
    path: '/dashboard/profile',
    draftOf: (known) => draftOf(known ?? profile),
    bodyOf,
    fields,
    audit: { action: 'updateProfile' },
    check,
    onDone: () => toast(common.saved),
  });
  useSectionOfMistake(form, setLanguage);
  const { sections } = branding;
  return (
    <>
      {!canWrite && <p className="mb-4 text-muted">{common.notAllowed}</p>}
      <div className="grid items-start gap-x-10 gap-y-8 lg:grid-cols-2">
        <fieldset disabled={!canWrite} className="min-w-0">
          <Form form={form} submit={common.save}>
            <Tabs
              label={branding.title}
              tabs={[
                { id: 'brand', label: sections.brand, content: <BrandSection {...{ form, profile, canWrite }} /> },
                {
                  id: 'texts',
                  label: sections.texts,
                  content: <TextsSection {...{ form, profile, language, setLanguage }} />,
                },
                { id: 'receipts', label: sections.receipts, content: <ReceiptSection form={form} /> },
                { id: 'emails', label: sections.emails, content: <EmailSection form={form} /> },
                {
                  id: 'customer-page',
                  label: sections['customer-page'],
                  content: <CustomerPageSection form={form} profile={profile} />,
                },
              ].map((section) => ({
                ...section,
                content: <div className="flex flex-col gap-4">{section.content}</div>,
              }))}
            />
          </Form>
        </fieldset>
        <div className="min-w-0 lg:sticky lg:top-20">
          {tab === 'emails' || tab === 'receipts' ? (
            canReadOrders && <Preview />
          ) : (
            <CheckoutPreview
              draft={{ mode: 'payment', profile: typedBrand(form.draft, language) }}
              locale={language === defaultLocale ? '' : language}
            />
          )}
        </div>
      </div>
    </>
  );
}

/** A color that is not typed to its end is not shown. */
const typedBrand = ({ display_name, color, terms_url, ...draft }: BrandingDraft, language: Language) => ({
  display_name: display_name.trim() || null,
  color: colorPattern.test(color) ? color : null,
  terms_url: terms_url.trim() || null,
  texts: {
    terms_text: draft[`texts_${language}`].terms_text.trim() || null,
    terms_url: draft[`texts_${language}`].terms_url.trim() || null,
  },
});

/** A mistake may be in a section that is not open. */
function useSectionOfMistake(form: FormState<BrandingDraft>, setLanguage: (language: Language) => void): void {
  const [, change] = useFilters();
  const wrong = form.error?.fieldErrors[0]?.field ?? (form.errorOf('color') && 'color');
  useEffect(() => {
    if (!wrong) return;
    change({ tab: sectionOf(wrong) });
    const language = languageOfField(wrong);
    if (language) setLanguage(language);
  }, [form.error, wrong]);
}
