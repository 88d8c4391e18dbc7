-- expand, runs with 0.1.0
-- Processes forget what they know of this company only.
CREATE OR REPLACE TRIGGER companies_changed AFTER DELETE OR UPDATE ON companies
  FOR EACH ROW EXECUTE FUNCTION notify_access_changed_of('id');
