-- expand, runs with 0.1.0
-- Emails to the customers of a company. Others go to its team.
ALTER TABLE mails
  ADD COLUMN kind text,
  -- What the email is about, for example a refund. It is written once for each.
  ADD COLUMN occasion text,
  ADD COLUMN customer_id uuid,
  -- The order or subscription.
  ADD COLUMN object_id uuid,
  ADD CONSTRAINT mails_customer_whole CHECK (num_nulls(kind, occasion, customer_id, object_id) IN (0, 4)) NOT VALID;
ALTER TABLE mails VALIDATE CONSTRAINT mails_customer_whole;

-- How far the events of a company were read for emails. Only companies that send emails have a row.
CREATE TABLE email_cursors (
  company_id uuid PRIMARY KEY REFERENCES companies (id),
  after_id uuid NOT NULL,
  -- When that event was inserted, by the clock of the server.
  after_at timestamptz NOT NULL DEFAULT now(),
  -- The day, by the clock of the company, for which expiring cards were looked for.
  cards_checked_on date
);

-- Customers who do not want optional emails.
CREATE TABLE email_opt_outs (
  company_id uuid NOT NULL,
  customer_id uuid NOT NULL,
  opted_out_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (company_id, customer_id),
  FOREIGN KEY (company_id, customer_id) REFERENCES customers (company_id, id) ON DELETE CASCADE
);
