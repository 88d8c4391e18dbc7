-- expand, runs with 0.1.0
ALTER TABLE processor_connections VALIDATE CONSTRAINT processor_connections_rejection;
