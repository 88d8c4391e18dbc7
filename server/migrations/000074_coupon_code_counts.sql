-- expand, runs with 0.1.0
-- How many codes a coupon has, so that it cannot get codes without end. Null: to be counted when it gets more.
ALTER TABLE coupons ADD COLUMN code_count integer;
