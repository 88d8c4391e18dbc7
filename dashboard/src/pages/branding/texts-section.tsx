import { defaultLocale, type Language, languageOf, languages } from '../../../../server/customer-texts/languages.ts';
import { Field, FieldRow, Select } from '../../components/fields.tsx';
import type { FormState } from '../../components/form.tsx';
import { languageChoices, languageName } from '../../components/language-field.tsx';
import { branding } from '../../texts/branding.ts';
import type { BrandingDraft, TextPart, TextsName } from './branding-draft.ts';

/** What the merchant says in its own words, one language at a time. */

interface TextsProps {
  readonly form: FormState<BrandingDraft>;
  readonly language: Language;
  readonly setLanguage: (language: Language) => void;
}

/** `de` of the field `texts.de.support` of the API. */
export const languageOfField = (field: string): Language | undefined =>
  languages.find((language) => field.startsWith(`texts.${language}.`));

export function TextsSection({ form, language, setLanguage }: TextsProps) {
  const usual = languageOf(form.draft.locale) ?? defaultLocale;
  const part = (name: TextPart) => ({ form, language, name });
  return (
    <>
      <p className="text-muted">{branding.textsLead(languageName(usual))}</p>
      <Field label={branding.textsLanguage}>
        {(attributes) => (
          <Select
            {...attributes}
            choices={languageChoices}
            value={language}
            onChange={(event) => setLanguage(event.target.value as Language)}
          />
        )}
      </Field>
      <OwnText {...part('thank_you')} rows={3} label={branding.thankYou} hint={branding.thankYouHint} />
      <OwnText {...part('support')} label={branding.support} hint={branding.supportHint} />
      <OwnText {...part('terms_text')} rows={2} label={branding.ownTerms} hint={branding.ownTermsHint} />
      <FieldRow>
        <OwnText {...part('terms_url')} type="url" label={branding.ownTermsUrl} hint={branding.ownTermsUrlHint} />
        <OwnText {...part('terms_version')} label={branding.termsVersion} hint={branding.termsVersionHint} />
      </FieldRow>
    </>
  );
}

interface OwnTextProps extends Pick<TextsProps, 'form' | 'language'> {
  readonly name: TextPart;
  readonly label: string;
  readonly hint: string;
  /** More than one makes it a field for lines. */
  readonly rows?: number;
  readonly type?: string;
}

function OwnText({ form, language, name, label, hint, rows, type }: OwnTextProps) {
  const own: TextsName = `texts_${language}`;
  const shared = {
    name: `${own}.${name}`,
    className: 'control',
    // A text in Arabic is written from right to left.
    ...(type ? { type } : { dir: 'auto', lang: language }),
    value: form.draft[own][name],
    onChange: ({ target }: { readonly target: { readonly value: string } }): void =>
      form.set(own, { ...form.draft[own], [name]: target.value }),
  };
  return (
    <Field label={label} hint={hint} error={form.errorOf(`texts.${language}.${name}`)}>
      {(attributes) =>
        rows ? <textarea {...attributes} {...shared} rows={rows} /> : <input {...attributes} {...shared} />
      }
    </Field>
  );
}
