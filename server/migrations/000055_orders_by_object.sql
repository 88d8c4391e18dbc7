-- expand, runs with 0.1.0
-- Which orders contain a product, use a coupon or bill a plan. The worker writes it from the orders, some minutes after them.
CREATE TABLE orders_by_object (
  company_id uuid NOT NULL,
  object_id uuid NOT NULL,
  order_id uuid NOT NULL,
  PRIMARY KEY (company_id, object_id, order_id)
);

-- How far the orders of a company are in that table. A company without orders has no row.
CREATE TABLE order_index_cursors (
  company_id uuid PRIMARY KEY REFERENCES companies (id),
  -- All orders up to this id are in the table.
  after_id uuid NOT NULL,
  -- The orders up to here are next. At that time no later transaction could add an order before this id.
  until_id uuid NOT NULL,
  until_at timestamptz NOT NULL DEFAULT now()
);
