CREATE TABLE plans (
  company_id uuid NOT NULL REFERENCES companies (id),
  id uuid NOT NULL,
  name text NOT NULL,
  plan_code text NOT NULL,
  description text,
  amount bigint NOT NULL CHECK (amount >= 0),
  one_time_amount bigint NOT NULL CHECK (one_time_amount >= 0),
  currency text NOT NULL,
  interval text NOT NULL CHECK (interval IN ('day', 'month')),
  interval_count integer NOT NULL CHECK (interval_count BETWEEN 1 AND CASE interval WHEN 'day' THEN 365 ELSE 60 END),
  -- Empty: the day of the start.
  anchor_day smallint CHECK (anchor_day BETWEEN 1 AND 31),
  billing_cycles integer NOT NULL CHECK (billing_cycles >= 0),
  pricing_tiers json NOT NULL,
  active boolean NOT NULL,
  updated_at timestamptz NOT NULL,
  PRIMARY KEY (company_id, id),
  CONSTRAINT plans_code UNIQUE (company_id, plan_code)
);
CREATE INDEX plans_updated_at ON plans (company_id, updated_at, id);
CREATE INDEX plans_name ON plans (company_id, name, id);
CREATE INDEX plans_amount ON plans (company_id, amount, id);

CREATE TABLE plan_products (
  company_id uuid NOT NULL,
  plan_id uuid NOT NULL,
  position smallint NOT NULL,
  product_id uuid NOT NULL,
  quantity integer NOT NULL CHECK (quantity BETWEEN 1 AND 9999),
  PRIMARY KEY (company_id, plan_id, position),
  FOREIGN KEY (company_id, plan_id) REFERENCES plans (company_id, id),
  FOREIGN KEY (company_id, product_id) REFERENCES products (company_id, id)
);
CREATE INDEX plan_products_product ON plan_products (company_id, product_id);
