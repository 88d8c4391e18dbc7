-- What an operator does from a shell is told as well. An operator is nobody in the company, and has a name only.
ALTER TABLE audit_entries DROP CONSTRAINT audit_entries_actor_kind_check;
ALTER TABLE audit_entries ADD CONSTRAINT audit_entries_actor_kind_check
  CHECK (actor_kind IN ('key', 'member', 'operator'));
ALTER TABLE audit_entries ALTER COLUMN actor_id DROP NOT NULL;
ALTER TABLE audit_entries ADD CONSTRAINT audit_entries_actor_check
  CHECK ((actor_id IS NULL) = (actor_kind = 'operator'));
