-- expand, runs with 0.1.0

-- Whether emails about payments carry the invoice or the credit note.
ALTER TABLE invoice_settings ADD COLUMN attach_to_emails boolean NOT NULL DEFAULT false;

-- The document that an email carries. The email waits some minutes for its number, and is then sent without it. Without a reference,
-- as documents have none to orders.
ALTER TABLE mails ADD COLUMN invoice_id uuid;
