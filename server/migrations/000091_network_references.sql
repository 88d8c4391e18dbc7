-- expand, runs with 0.1.0
-- Since when approved charges come without the reference of the card network, at a processor that sends it only if the
-- account is set up so. Renewals then have no link to the first payment.
ALTER TABLE processor_connections ADD COLUMN unlinked_at timestamptz;
