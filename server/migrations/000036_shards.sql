-- expand, runs with 0.1.0
-- The shard of a company. A company without a row is on the first shard, the server of DATABASE_URL. Used only on
-- that server, like every table of the control plane.
CREATE TABLE company_shards (
  company_id uuid PRIMARY KEY,
  shard text NOT NULL,
  -- While the company moves to another shard.
  moving_to text,
  moving_since timestamptz,
  CHECK ((moving_to IS NULL) = (moving_since IS NULL))
);

-- Processes forget what they know of this company only. Earlier versions forget all of it.
CREATE FUNCTION notify_access_changed_of() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM pg_notify('access_changed', to_jsonb(coalesce(NEW, OLD)) ->> TG_ARGV[0]);
  RETURN NULL;
END $$;
CREATE TRIGGER company_shards_changed AFTER INSERT OR UPDATE OR DELETE ON company_shards
  FOR EACH ROW EXECUTE FUNCTION notify_access_changed_of('company_id');

-- New companies are not placed on these shards.
CREATE TABLE draining_shards (
  shard text PRIMARY KEY,
  since timestamptz NOT NULL DEFAULT now()
);

-- Companies that must not change on this server: they are about to leave it, have left it, or are arriving.
CREATE TABLE company_fences (
  company_id uuid PRIMARY KEY,
  state text NOT NULL CHECK (state IN ('leaving', 'left', 'arriving')),
  since timestamptz NOT NULL DEFAULT now()
);

-- Companies of a sign-up whose user is not recorded yet. The control plane is on another server, so both cannot commit
-- together. What is left behind is removed later.
CREATE TABLE unfinished_sign_ups (
  company_id uuid PRIMARY KEY,
  started_at timestamptz NOT NULL DEFAULT now()
);

-- The vault finds the shard of a company by itself.
DO $$
BEGIN
  GRANT USAGE ON SCHEMA public TO svc_vault;
  GRANT SELECT ON company_shards TO svc_vault;
EXCEPTION
  WHEN undefined_object OR insufficient_privilege THEN RAISE NOTICE 'the role svc_vault is left to the operator';
END $$;
