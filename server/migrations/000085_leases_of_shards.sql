-- expand, runs with 0.1.0
-- In the control plane: which worker does the jobs of which shards, and which shards are in use.
CREATE TABLE shard_workers (
  id uuid PRIMARY KEY,
  seen_at timestamptz NOT NULL
);

CREATE TABLE shard_leases (
  shard text NOT NULL,
  place smallint NOT NULL CHECK (place BETWEEN 1 AND 2),
  worker_id uuid NOT NULL REFERENCES shard_workers (id) ON DELETE CASCADE,
  PRIMARY KEY (shard, place)
);
CREATE UNIQUE INDEX shard_leases_worker ON shard_leases (worker_id, shard);

CREATE TABLE shard_uses (
  shard text PRIMARY KEY,
  used_until timestamptz NOT NULL
);
