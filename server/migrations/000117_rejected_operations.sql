-- expand, runs with 0.1.0
-- Which operations the processor refuses because of the account. Until now, only charges were noted.
ALTER TABLE processor_connections ADD COLUMN rejected_operation text
  CHECK (rejected_operation IN ('charge', 'capture', 'refund', 'void', 'verification'));
UPDATE processor_connections SET rejected_operation = 'charge' WHERE rejection IS NOT NULL;
ALTER TABLE processor_connections ADD CONSTRAINT processor_connections_rejection
  CHECK ((rejection IS NULL) = (rejected_operation IS NULL)) NOT VALID;
