-- What the processor said of a void. A void is no transaction of its own, and the idempotency key that began it is answered
-- from here when the process that began it never came to record its answer.
CREATE TABLE voids (
  company_id uuid NOT NULL,
  id uuid NOT NULL,
  order_id uuid NOT NULL,
  approved boolean NOT NULL,
  failure_reason text,
  recorded_at timestamptz NOT NULL,
  PRIMARY KEY (company_id, id),
  FOREIGN KEY (company_id, order_id) REFERENCES orders (company_id, id),
  CHECK (approved = (failure_reason IS NULL))
);
CREATE UNIQUE INDEX voids_one_approved ON voids (company_id, order_id) WHERE approved;
