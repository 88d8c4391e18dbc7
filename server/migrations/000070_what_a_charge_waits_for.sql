-- expand, runs with 0.1.0
-- What a charge waits for that was not sent: a part of the service, working credentials, or a connection that takes it.
ALTER TABLE open_transactions ADD COLUMN waits_for text CHECK (waits_for IN ('service', 'credentials', 'connection'));
