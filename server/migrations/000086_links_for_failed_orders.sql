-- expand, runs with 0.1.0
-- The payment link that asks for the money of a failed order: at most one, for exactly the total of the order.
CREATE TABLE failed_order_links (
  company_id uuid NOT NULL,
  order_id uuid NOT NULL,
  payment_link_id uuid NOT NULL,
  total bigint NOT NULL CHECK (total > 0),
  sent_at timestamptz,
  PRIMARY KEY (company_id, order_id),
  UNIQUE (company_id, payment_link_id),
  FOREIGN KEY (company_id, order_id) REFERENCES orders (company_id, id) ON DELETE CASCADE,
  FOREIGN KEY (company_id, payment_link_id) REFERENCES payment_links (company_id, id) ON DELETE CASCADE
);
