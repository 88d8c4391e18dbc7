-- What a member may do. Each company has its own, so that one can be changed without the others.
CREATE TABLE roles (
  company_id uuid NOT NULL REFERENCES companies (id),
  id uuid NOT NULL,
  name text NOT NULL,
  description text NOT NULL,
  default_page text NOT NULL,
  permissions text[] NOT NULL,
  PRIMARY KEY (company_id, id),
  CONSTRAINT roles_name UNIQUE (company_id, name)
);

CREATE TABLE team_members (
  company_id uuid NOT NULL,
  id uuid NOT NULL,
  email text NOT NULL,
  -- As it is compared.
  email_key text NOT NULL,
  first_name text NOT NULL,
  last_name text NOT NULL,
  phone_number text NOT NULL,
  status text NOT NULL CHECK (status IN ('pending', 'active', 'blocked')),
  role_id uuid NOT NULL,
  -- Of the invitation that was mailed; the link is in the mail only.
  invitation_hash bytea,
  invitation_expires_at timestamptz,
  invited_at timestamptz NOT NULL,
  accepted_at timestamptz,
  updated_at timestamptz NOT NULL,
  PRIMARY KEY (company_id, id),
  CONSTRAINT team_members_email UNIQUE (company_id, email_key),
  FOREIGN KEY (company_id, role_id) REFERENCES roles (company_id, id),
  CHECK ((status = 'active') <= (accepted_at IS NOT NULL))
);
CREATE INDEX team_members_status ON team_members (company_id, status, id);
CREATE UNIQUE INDEX team_members_invitation ON team_members (company_id, invitation_hash)
  WHERE invitation_hash IS NOT NULL;

-- Mails are rows of the transaction they speak of. They are sent by a worker; without an SMTP server they are shown on the
-- mailbox page.
CREATE TABLE mails (
  company_id uuid NOT NULL REFERENCES companies (id),
  id uuid NOT NULL,
  recipient text NOT NULL,
  subject text NOT NULL,
  body text NOT NULL,
  inserted_at timestamptz NOT NULL DEFAULT now(),
  attempts integer NOT NULL DEFAULT 0,
  next_attempt_at timestamptz DEFAULT now(),
  sent_at timestamptz,
  last_error text,
  PRIMARY KEY (company_id, id)
);
CREATE INDEX mails_due ON mails (next_attempt_at) WHERE next_attempt_at IS NOT NULL;
CREATE INDEX mails_inserted_at ON mails (inserted_at);
