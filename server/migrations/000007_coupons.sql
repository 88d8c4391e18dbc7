CREATE TABLE coupons (
  company_id uuid NOT NULL REFERENCES companies (id),
  id uuid NOT NULL,
  kind text NOT NULL CHECK (kind IN ('generated', 'promo')),
  name text NOT NULL,
  description text,
  -- Hundredths of a percent, so that arithmetic is exact.
  percentage_hundredths integer CHECK (percentage_hundredths BETWEEN 100 AND 10000),
  amount bigint CHECK (amount > 0),
  max_discount_amount bigint CHECK (max_discount_amount > 0),
  currency text,
  duration text NOT NULL CHECK (duration IN ('once', 'repeating', 'forever')),
  duration_in_cycles integer CHECK (duration_in_cycles > 0),
  minimum_amount bigint NOT NULL CHECK (minimum_amount >= 0),
  max_redemptions integer CHECK (max_redemptions > 0),
  max_redemptions_per_customer integer CHECK (max_redemptions_per_customer > 0),
  max_redemptions_per_code integer CHECK (max_redemptions_per_code > 0),
  first_time_customer_only boolean NOT NULL,
  starts_at timestamptz,
  expires_at timestamptz,
  active boolean NOT NULL,
  archived_at timestamptz,
  product_scope text NOT NULL CHECK (product_scope IN ('none', 'all', 'specific')),
  plan_scope text NOT NULL CHECK (plan_scope IN ('none', 'all', 'specific')),
  product_ids uuid[] NOT NULL,
  plan_ids uuid[] NOT NULL,
  code_prefix text,
  -- Redemptions that count, and with them those whose charge is under way: what the limits are held against.
  total_redemptions integer NOT NULL DEFAULT 0 CHECK (total_redemptions BETWEEN 0 AND used),
  used integer NOT NULL DEFAULT 0,
  updated_at timestamptz NOT NULL,
  PRIMARY KEY (company_id, id),
  CHECK ((percentage_hundredths IS NULL) <> (amount IS NULL)),
  CHECK (amount IS NULL OR (max_discount_amount IS NULL AND currency IS NOT NULL)),
  CHECK (percentage_hundredths IS NULL OR currency IS NULL),
  CHECK ((duration = 'repeating') = (duration_in_cycles IS NOT NULL)),
  CHECK (archived_at IS NULL OR NOT active),
  CONSTRAINT coupons_used_at_most_max CHECK (used <= max_redemptions)
) WITH (fillfactor = 50);
CREATE INDEX coupons_updated_at ON coupons (company_id, updated_at, id);
CREATE INDEX coupons_name ON coupons (company_id, name, id);

CREATE TABLE coupon_codes (
  company_id uuid NOT NULL,
  id uuid NOT NULL,
  coupon_id uuid NOT NULL,
  -- As it is compared: in upper case.
  code text NOT NULL,
  redemptions integer NOT NULL DEFAULT 0 CHECK (redemptions BETWEEN 0 AND used),
  used integer NOT NULL DEFAULT 0,
  -- The coupon before the id: its codes are listed from here, and no other index tempts the planner to read all others.
  PRIMARY KEY (company_id, coupon_id, id),
  CONSTRAINT coupon_codes_code UNIQUE (company_id, code),
  FOREIGN KEY (company_id, coupon_id) REFERENCES coupons (company_id, id)
) WITH (fillfactor = 90);

-- One for each order or subscription that uses a coupon, by its id; gone again when the charge is declined.
CREATE TABLE coupon_redemptions (
  company_id uuid NOT NULL,
  id uuid NOT NULL,
  coupon_id uuid NOT NULL,
  code_id uuid NOT NULL,
  customer_id uuid NOT NULL,
  counted boolean NOT NULL,
  -- Held for a subscription that starts later: it will not be decided soon.
  waits boolean NOT NULL,
  CHECK (NOT (counted AND waits)),
  PRIMARY KEY (company_id, id),
  FOREIGN KEY (company_id, coupon_id, code_id) REFERENCES coupon_codes (company_id, coupon_id, id)
) WITH (fillfactor = 80);
CREATE INDEX coupon_redemptions_waiting ON coupon_redemptions (company_id, coupon_id) WHERE waits;
CREATE INDEX coupon_redemptions_customer ON coupon_redemptions (company_id, coupon_id, customer_id);
