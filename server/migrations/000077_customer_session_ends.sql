-- expand, runs with 0.1.0
-- A link to the page of a customer ends with the email address that it was made for, and with the customer. A trigger, so that no
-- change of a customer can forget it.
CREATE FUNCTION end_customer_sessions() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  DELETE FROM customer_sessions WHERE company_id = OLD.company_id AND customer_id = OLD.id;
  RETURN NULL;
END $$;
CREATE TRIGGER customers_email_changed AFTER UPDATE OF email_key, deleted_at ON customers FOR EACH ROW
  WHEN (OLD.email_key <> NEW.email_key OR (OLD.deleted_at IS NULL AND NEW.deleted_at IS NOT NULL))
  EXECUTE FUNCTION end_customer_sessions();
CREATE TRIGGER customers_removed AFTER DELETE ON customers FOR EACH ROW EXECUTE FUNCTION end_customer_sessions();
