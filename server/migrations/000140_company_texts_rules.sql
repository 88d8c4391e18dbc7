-- expand, runs with 0.1.0
ALTER TABLE company_profiles VALIDATE CONSTRAINT company_profiles_texts_check;
ALTER TABLE company_profiles VALIDATE CONSTRAINT company_profiles_texts_terms;
