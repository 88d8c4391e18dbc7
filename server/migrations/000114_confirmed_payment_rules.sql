-- expand, runs with 0.1.0
ALTER TABLE orders VALIDATE CONSTRAINT orders_authentication_ends;
