-- expand, runs with 0.1.0
-- The last time that the checkout pages of a company had so many declined payments that they asked for proofs of work.
CREATE TABLE card_testing (
  company_id uuid PRIMARY KEY REFERENCES companies (id),
  started_at timestamptz NOT NULL,
  last_at timestamptz NOT NULL,
  declined integer NOT NULL
);
