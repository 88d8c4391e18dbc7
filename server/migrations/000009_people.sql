-- People who sign in. They belong to no company; their memberships do.
CREATE TABLE users (
  id uuid PRIMARY KEY,
  email text NOT NULL,
  -- As it is compared.
  email_key text NOT NULL,
  -- Set once a link that was mailed there came back.
  email_verified_at timestamptz,
  first_name text NOT NULL,
  last_name text NOT NULL,
  password_hash text NOT NULL,
  -- Sealed. Nobody is asked for codes before the first of them was right.
  totp_secret bytea,
  totp_confirmed_at timestamptz,
  -- A code is good once: later ones must be of a later step.
  totp_last_step bigint,
  recovery_hashes bytea[] NOT NULL DEFAULT '{}',
  failed_attempts integer NOT NULL DEFAULT 0,
  locked_until timestamptz,
  reset_hash bytea,
  reset_expires_at timestamptz,
  CONSTRAINT users_email UNIQUE (email_key),
  CONSTRAINT users_reset UNIQUE (reset_hash)
);

CREATE TABLE sessions (
  id uuid PRIMARY KEY,
  token_hash bytea NOT NULL,
  user_id uuid NOT NULL REFERENCES users (id) ON DELETE CASCADE,
  address text NOT NULL,
  user_agent text NOT NULL,
  last_seen_at timestamptz NOT NULL,
  expires_at timestamptz NOT NULL,
  -- When the password was given last: what shows or changes secrets asks for it again after a while.
  stepped_up_at timestamptz NOT NULL,
  CONSTRAINT sessions_token UNIQUE (token_hash)
);
CREATE INDEX sessions_user ON sessions (user_id, id);
CREATE INDEX sessions_expiry ON sessions (expires_at);

-- Leads from a person, who arrives without a company, to the companies.
CREATE TABLE memberships (
  user_id uuid NOT NULL REFERENCES users (id) ON DELETE CASCADE,
  company_id uuid NOT NULL,
  member_id uuid NOT NULL,
  PRIMARY KEY (user_id, company_id),
  FOREIGN KEY (company_id, member_id) REFERENCES team_members (company_id, id) ON DELETE CASCADE
);
CREATE INDEX memberships_member ON memberships (company_id, member_id);

ALTER TABLE roles ADD COLUMN custom boolean NOT NULL DEFAULT false;
-- What only people can do; the roles of companies that exist gain it.
UPDATE roles SET permissions = permissions || CASE name
  WHEN 'Owner' THEN '{requests:read,plans:write,company:read,company:write,api_keys:read,api_keys:write,audit_log:read}'::text[]
  WHEN 'Admin' THEN '{requests:read,plans:write,company:read,api_keys:read,api_keys:write,audit_log:read}'::text[]
  WHEN 'Developer' THEN '{requests:read,plans:write,company:read,api_keys:read,api_keys:write}'::text[]
  WHEN 'Finance' THEN '{plans:write,company:read}'::text[]
  WHEN 'Viewer' THEN '{company:read}'::text[]
  ELSE '{}' END;

-- Who changed what. Nothing is ever changed or taken away here: the role of the service cannot.
CREATE TABLE audit_entries (
  company_id uuid NOT NULL REFERENCES companies (id),
  id uuid NOT NULL,
  actor_kind text NOT NULL CHECK (actor_kind IN ('key', 'member')),
  actor_id uuid NOT NULL,
  actor_name text NOT NULL,
  action text NOT NULL,
  object_id text,
  -- Names of the fields that were sent, never their values.
  fields text[] NOT NULL,
  address text NOT NULL,
  request_id text NOT NULL,
  PRIMARY KEY (company_id, id)
);
CREATE INDEX audit_entries_actor ON audit_entries (company_id, actor_id, id);
CREATE INDEX audit_entries_object ON audit_entries (company_id, object_id, id);
DO $$ BEGIN
  IF EXISTS (SELECT 1 FROM pg_roles WHERE rolname = 'svc_api') THEN
    REVOKE UPDATE, DELETE ON audit_entries FROM svc_api;
  END IF;
END $$;

