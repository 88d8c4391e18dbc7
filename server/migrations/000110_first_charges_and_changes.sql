-- expand, runs with 0.1.0
-- The order of a change of plan has no cycle either.
DROP INDEX orders_first_charge;
ALTER INDEX orders_first_without_change RENAME TO orders_first_charge;
