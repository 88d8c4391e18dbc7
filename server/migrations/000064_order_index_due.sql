-- expand, runs with 0.1.0
-- The worker finds the companies whose orders it indexes next by this, and reads no others.
CREATE INDEX order_index_cursors_due ON order_index_cursors (until_at);

-- Every company has a cursor from its start, so that the worker need not look for those without one. It goes with its company.
ALTER TABLE order_index_cursors DROP CONSTRAINT order_index_cursors_company_id_fkey,
  ADD CONSTRAINT order_index_cursors_company_id_fkey FOREIGN KEY (company_id) REFERENCES companies (id) ON DELETE CASCADE;
CREATE FUNCTION add_order_cursor() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO order_index_cursors (company_id, after_id, until_id, until_at)
  VALUES (NEW.id, '00000000-0000-0000-0000-000000000000', '00000000-0000-0000-0000-000000000000', '-infinity')
  ON CONFLICT DO NOTHING;
  RETURN NULL;
END $$;
CREATE TRIGGER companies_order_cursor AFTER INSERT ON companies FOR EACH ROW EXECUTE FUNCTION add_order_cursor();
INSERT INTO order_index_cursors (company_id, after_id, until_id, until_at)
SELECT id, '00000000-0000-0000-0000-000000000000', '00000000-0000-0000-0000-000000000000', '-infinity' FROM companies
ON CONFLICT DO NOTHING;
