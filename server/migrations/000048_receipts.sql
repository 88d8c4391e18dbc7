-- expand, runs with 0.1.0
-- A receipt gets its number when it is first asked for. Its content is read from the order when it is shown.
CREATE TABLE receipts (
  company_id uuid NOT NULL,
  id uuid NOT NULL,
  order_id uuid NOT NULL,
  -- The refund that it is for; null for the payment itself.
  refund_id uuid,
  -- 1, 2, 3, … within the company, without gaps.
  number integer NOT NULL CHECK (number > 0),
  created_at timestamptz NOT NULL,
  PRIMARY KEY (company_id, id),
  CONSTRAINT receipts_number UNIQUE (company_id, number),
  FOREIGN KEY (company_id, order_id) REFERENCES orders (company_id, id)
);
CREATE UNIQUE INDEX receipts_subject ON receipts (company_id, order_id, (coalesce(refund_id, order_id)));
