-- expand, runs with 0.1.0
-- The member may be on another server. Each of these migrations locks one table that requests read, so that no request
-- waits for two.
ALTER TABLE memberships
  DROP CONSTRAINT memberships_company_id_member_id_fkey,
  ADD COLUMN created_at timestamptz NOT NULL DEFAULT now();
