-- Tells whether a process has the secrets that this database was made with. Nothing leads from here back to a secret.
CREATE TABLE secret_checks (
  name text PRIMARY KEY,
  digest bytea NOT NULL
);

CREATE TABLE vault.secret_checks (
  name text PRIMARY KEY,
  digest bytea NOT NULL
);
