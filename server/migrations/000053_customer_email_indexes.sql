-- expand, runs with 0.1.0
CREATE UNIQUE INDEX CONCURRENTLY mails_occasion ON mails (company_id, occasion) WHERE occasion IS NOT NULL;
CREATE INDEX CONCURRENTLY mails_to_customers ON mails (company_id, id) WHERE kind IS NOT NULL;
-- Many receipts that are due must not delay invitations and password resets.
CREATE INDEX CONCURRENTLY mails_due_to_team ON mails (next_attempt_at) WHERE next_attempt_at IS NOT NULL AND kind IS NULL;
