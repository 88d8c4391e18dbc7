-- A link that opens an account is kept sealed, in the mail that brings it, until that is sent or the link opens nothing any more.
-- `body` is what remains: the same text without the link.
ALTER TABLE mails
  ADD COLUMN sealed_body bytea,
  -- The member or person whom the link lets in.
  ADD COLUMN link_for uuid,
  ADD COLUMN link_expires_at timestamptz,
  ADD CONSTRAINT mails_link_whole CHECK (num_nulls(sealed_body, link_for, link_expires_at) IN (0, 3)),
  ADD CONSTRAINT mails_link_unsent CHECK (sent_at IS NULL OR sealed_body IS NULL);
CREATE INDEX mails_link_for ON mails (link_for) WHERE link_for IS NOT NULL;
CREATE INDEX mails_link_expiry ON mails (link_expires_at) WHERE link_expires_at IS NOT NULL;

-- Links that were kept in plain. A migration has no key to seal those with that are not sent yet: they are asked for again.
UPDATE mails SET body = regexp_replace(body, 'https?://\S+/(invitations/|reset-password\?token=)\S+', '[link removed]', 'g'),
  last_error = CASE WHEN next_attempt_at IS NULL THEN last_error ELSE 'an upgrade removed the link before it was sent' END,
  next_attempt_at = NULL
WHERE body ~ 'https?://\S+/(invitations/|reset-password\?token=)\S+';

-- Answers that hold card tokens in plain. Repeated with the same key, the card gets a new token.
DELETE FROM idempotency_keys WHERE path = '/v1/card_tokens';
