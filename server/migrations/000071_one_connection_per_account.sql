-- expand, runs with 0.1.0
-- A company connects an account at a processor once. Of connections to the same account, the first keeps it. NMI reports no ID of an account, only the
-- name of the company.
UPDATE processor_connections p SET account_id = NULL
WHERE removed_at IS NULL AND kind <> 'nmi' AND account_id IS NOT NULL AND EXISTS (
  SELECT FROM processor_connections o WHERE o.company_id = p.company_id AND o.kind = p.kind AND o.account_id = p.account_id
    AND o.removed_at IS NULL AND (o.created_at, o.id) < (p.created_at, p.id));
CREATE UNIQUE INDEX processor_connections_account ON processor_connections (company_id, kind, account_id)
  WHERE removed_at IS NULL AND kind <> 'nmi';
