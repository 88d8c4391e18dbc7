-- expand, runs with 0.1.0
-- A customer of a checkout page may give a phone number that another customer has. The page must not reveal it, so
-- the number is stored without claiming it.
ALTER TABLE customers ALTER COLUMN phone_key DROP NOT NULL;
