-- expand, runs with 0.1.0
-- What the team writes about a customer or an order. Customers never see it.
CREATE TABLE notes (
  company_id uuid NOT NULL REFERENCES companies (id),
  id uuid NOT NULL,
  customer_id uuid,
  order_id uuid,
  text text NOT NULL CHECK (text <> ''),
  author_id uuid NOT NULL,
  author_name text NOT NULL,
  PRIMARY KEY (company_id, id),
  CHECK (num_nonnulls(customer_id, order_id) = 1),
  FOREIGN KEY (company_id, customer_id) REFERENCES customers (company_id, id) ON DELETE CASCADE,
  FOREIGN KEY (company_id, order_id) REFERENCES orders (company_id, id)
);
CREATE INDEX notes_customer ON notes (company_id, customer_id, id) WHERE customer_id IS NOT NULL;
CREATE INDEX notes_order ON notes (company_id, order_id, id) WHERE order_id IS NOT NULL;
