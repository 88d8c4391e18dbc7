-- Tenant tables have company_id first in every key, so that they can be distributed by it and no statement
-- crosses companies by accident. Ids are UUID v7: their millisecond is created_at, so no table stores it twice.

CREATE TABLE companies (
  id uuid PRIMARY KEY,
  account_id uuid NOT NULL,
  name text NOT NULL,
  mode text NOT NULL CHECK (mode IN ('sandbox', 'live')),
  api_version text NOT NULL,
  clock_offset_ms bigint NOT NULL DEFAULT 0 CHECK (clock_offset_ms >= 0),
  UNIQUE (account_id, mode)
);

CREATE TABLE api_keys (
  company_id uuid NOT NULL REFERENCES companies (id),
  id uuid NOT NULL,
  kind text NOT NULL CHECK (kind IN ('secret', 'publishable')),
  name text NOT NULL,
  lookup_id text NOT NULL,
  secret_hash bytea NOT NULL CHECK (octet_length(secret_hash) = 32),
  permissions text[] NOT NULL,
  allowed_addresses text[] NOT NULL,
  expires_at timestamptz,
  revoked_at timestamptz,
  last_used_at timestamptz,
  PRIMARY KEY (company_id, id)
);

-- A key arrives without its company: this small table leads to it.
CREATE TABLE api_key_lookups (
  lookup_id text PRIMARY KEY,
  company_id uuid NOT NULL,
  api_key_id uuid NOT NULL,
  FOREIGN KEY (company_id, api_key_id) REFERENCES api_keys (company_id, id) ON DELETE CASCADE
);

-- Every process caches who may do what for some seconds; a change must reach them at once, also one made by hand.
CREATE FUNCTION notify_access_changed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM pg_notify('access_changed', '');
  RETURN NULL;
END $$;

CREATE TRIGGER api_keys_changed
  AFTER DELETE OR UPDATE OF permissions, allowed_addresses, expires_at, revoked_at, secret_hash ON api_keys
  FOR EACH STATEMENT EXECUTE FUNCTION notify_access_changed();
CREATE TRIGGER companies_changed
  AFTER DELETE OR UPDATE ON companies
  FOR EACH STATEMENT EXECUTE FUNCTION notify_access_changed();

-- Written once, in the transaction of the work it speaks of: a row that can be seen is a finished request.
CREATE TABLE idempotency_keys (
  company_id uuid NOT NULL,
  key text NOT NULL,
  method text NOT NULL,
  path text NOT NULL,
  field_hashes jsonb NOT NULL,
  request_id text NOT NULL,
  api_version text NOT NULL,
  status smallint NOT NULL,
  body text NOT NULL,
  expires_at timestamptz NOT NULL,
  PRIMARY KEY (company_id, key)
);
CREATE INDEX idempotency_keys_expiry ON idempotency_keys (expires_at);

-- What was hard-deleted: the id stays known, and a list walk that stands on it can go on.
CREATE TABLE tombstones (
  company_id uuid NOT NULL,
  id uuid NOT NULL,
  object_type text NOT NULL,
  sort_values jsonb NOT NULL,
  PRIMARY KEY (company_id, id)
);

CREATE UNLOGGED TABLE rate_limits (
  key text PRIMARY KEY,
  tat_ms double precision NOT NULL
) WITH (fillfactor = 50);

CREATE TABLE customers (
  company_id uuid NOT NULL REFERENCES companies (id),
  id uuid NOT NULL,
  email text NOT NULL,
  email_key text NOT NULL,
  first_name text NOT NULL,
  last_name text NOT NULL,
  phone text NOT NULL,
  phone_key text NOT NULL,
  company text,
  shipping_address jsonb,
  tags text[] NOT NULL,
  metadata jsonb NOT NULL,
  search tsvector NOT NULL,
  updated_at timestamptz NOT NULL,
  deleted_at timestamptz,
  PRIMARY KEY (company_id, id)
);
-- Unique among customers that are not deleted, yet one index for look-ups of both: a deleted row carries its own id.
CREATE UNIQUE INDEX customers_email ON customers
  (company_id, email_key, (CASE WHEN deleted_at IS NULL THEN company_id ELSE id END));
CREATE UNIQUE INDEX customers_phone ON customers
  (company_id, phone_key, (CASE WHEN deleted_at IS NULL THEN company_id ELSE id END));
CREATE INDEX customers_updated_at ON customers (company_id, updated_at, id);
-- Words and tags, each with its company in front, so that one company's search never reads another's entries.
-- A short pending list: a search reads it whole.
CREATE INDEX customers_search ON customers USING gin (search) WITH (gin_pending_list_limit = 256);

CREATE TABLE products (
  company_id uuid NOT NULL REFERENCES companies (id),
  id uuid NOT NULL,
  name text NOT NULL,
  description text,
  amount bigint NOT NULL CHECK (amount >= 0),
  currency text NOT NULL,
  requires_shipping boolean NOT NULL,
  sku text NOT NULL,
  availability text NOT NULL CHECK (availability IN ('in_stock', 'out_of_stock', 'preorder')),
  category text,
  brand text,
  material text,
  weight text,
  return_window integer CHECK (return_window BETWEEN 0 AND 365),
  inventory_quantity integer,
  metadata jsonb NOT NULL,
  active boolean NOT NULL,
  updated_at timestamptz NOT NULL,
  deleted_at timestamptz,
  PRIMARY KEY (company_id, id),
  CHECK (deleted_at IS NULL OR NOT active)
);
CREATE UNIQUE INDEX products_sku ON products
  (company_id, sku, (CASE WHEN deleted_at IS NULL THEN company_id ELSE id END));
CREATE INDEX products_updated_at ON products (company_id, updated_at, id) WHERE deleted_at IS NULL;
CREATE INDEX products_name ON products (company_id, name, id) WHERE deleted_at IS NULL;
CREATE INDEX products_amount ON products (company_id, amount, id) WHERE deleted_at IS NULL;
CREATE INDEX products_active ON products (company_id, active, id) WHERE deleted_at IS NULL;

CREATE TABLE product_images (
  company_id uuid NOT NULL,
  id uuid NOT NULL,
  product_id uuid NOT NULL,
  position smallint NOT NULL CHECK (position BETWEEN 0 AND 9),
  file_key text NOT NULL,
  content_type text NOT NULL,
  size_bytes integer NOT NULL,
  PRIMARY KEY (company_id, id),
  FOREIGN KEY (company_id, product_id) REFERENCES products (company_id, id),
  -- Deferred, because a reorder passes through states in which two images share a place.
  CONSTRAINT product_images_position UNIQUE (company_id, product_id, position) DEFERRABLE INITIALLY DEFERRED
);

-- Files no row points at: an upload registers its file here before it stores it and takes the entry back with the
-- row that names the file; a deletion registers the file in its own transaction. The worker removes what is due.
CREATE TABLE unreferenced_files (
  file_key text PRIMARY KEY,
  due_at timestamptz NOT NULL,
  deleting boolean NOT NULL DEFAULT false
);
CREATE INDEX unreferenced_files_due ON unreferenced_files (due_at);
