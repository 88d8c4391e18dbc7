-- expand, runs with 0.1.0

-- The keys that hash and encrypt, one current key for each purpose. They are encrypted with the master secret, so that the
-- master secret can change without them, and they can change without it.
CREATE TABLE service_keys (
  id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  purpose text NOT NULL,
  -- The first key of a purpose is derived from the master secret, as in 0.1.0. What it encrypts does not name its key.
  original boolean NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  -- Processes know a key before it becomes the current one, so that each can read what another writes with it.
  activated_at timestamptz,
  retired_at timestamptz,
  CHECK (retired_at IS NULL OR activated_at IS NOT NULL)
);
CREATE UNIQUE INDEX service_keys_current ON service_keys (purpose) WHERE activated_at IS NOT NULL AND retired_at IS NULL;
CREATE UNIQUE INDEX service_keys_pending ON service_keys (purpose) WHERE activated_at IS NULL;

-- A key, encrypted with a master secret. While the master secret changes, there is one copy for each of the two.
CREATE TABLE service_key_copies (
  key_id integer NOT NULL REFERENCES service_keys ON DELETE CASCADE,
  master_id text NOT NULL,
  sealed bytea NOT NULL,
  PRIMARY KEY (key_id, master_id)
);

-- The running processes, and which keys each of them knows. A rotation waits for them.
CREATE TABLE key_readers (
  id uuid PRIMARY KEY,
  name text NOT NULL,
  master_id text NOT NULL,
  newest_known integer NOT NULL,
  newest_active integer NOT NULL,
  seen_at timestamptz NOT NULL DEFAULT now()
);

-- A rotation continues where it was interrupted.
CREATE TABLE key_rotations (
  id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  started_at timestamptz NOT NULL DEFAULT now(),
  finished_at timestamptz
);
CREATE UNIQUE INDEX key_rotations_open ON key_rotations ((finished_at IS NULL)) WHERE finished_at IS NULL;
