-- expand, runs with 0.1.0
-- Refuses new rows of a company that has left this server, whatever a process still remembers. Its triggers are added
-- when the first company leaves, to the tables whose rows do not refer to their company by a foreign key: the other
-- tables refuse such rows already, because the company is not there any more.
CREATE FUNCTION refuse_left() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = public, pg_temp AS $$
DECLARE
  company uuid;
BEGIN
  -- The keys of files begin with the company.
  IF TG_TABLE_NAME = 'unreferenced_files' THEN company := split_part(NEW.file_key, '/', 1)::uuid;
  ELSE company := NEW.company_id;
  END IF;
  IF EXISTS (SELECT 1 FROM company_fences WHERE company_id = company AND state = 'left') THEN
    RAISE 'the company is on another shard' USING ERRCODE = 'lock_not_available';
  END IF;
  RETURN NEW;
END $$;
