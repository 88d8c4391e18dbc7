-- expand, runs with 0.1.0
-- Refuses writes of a company that leaves this server. Its triggers exist only while companies move, and name the
-- company whose fence counts. The lock is shared by every transaction that writes: once a fence is set under the
-- exclusive lock, each transaction has either ended or sees the fence.
CREATE FUNCTION refuse_fenced() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = public, pg_temp AS $$
BEGIN
  IF current_setting('svc.moving', true) IS DISTINCT FROM TG_ARGV[0] THEN
    PERFORM pg_advisory_xact_lock_shared(hashtextextended('fence ' || TG_ARGV[0], 0));
    IF EXISTS (SELECT 1 FROM company_fences WHERE company_id = TG_ARGV[0]::uuid AND state <> 'arriving') THEN
      -- Not a sign that the server is away: in a batch, only the requests of this company fail.
      RAISE 'the company moves to another shard' USING ERRCODE = 'lock_not_available';
    END IF;
  END IF;
  RETURN coalesce(NEW, OLD);
END $$;
