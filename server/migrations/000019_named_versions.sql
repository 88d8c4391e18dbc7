-- Whether the request named its API version in a header. Of keys from before it is not known; they count as not naming one.
ALTER TABLE idempotency_keys ADD COLUMN version_named boolean NOT NULL DEFAULT false;
