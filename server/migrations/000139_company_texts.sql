-- expand, runs with 0.1.0

-- What a company says to its customers in its own words, by language: {"de": {"thank_you": "…"}}. Only what is set.
ALTER TABLE company_profiles ADD COLUMN texts jsonb NOT NULL DEFAULT '{}';
ALTER TABLE company_profiles ADD CONSTRAINT company_profiles_texts_check CHECK (jsonb_typeof(texts) = 'object') NOT VALID;
-- The terms in a language have a version, as those for all languages.
ALTER TABLE company_profiles ADD CONSTRAINT company_profiles_texts_terms CHECK (NOT jsonb_path_exists(texts,
  '$.* ? ((exists(@.terms_url) && !exists(@.terms_version)) || (exists(@.terms_version) && !exists(@.terms_url)))')) NOT VALID;
