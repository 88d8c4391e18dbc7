-- expand, runs with 0.1.0

-- An account can have a third company, which rehearses with the test accounts of its processors. The release before reads no
-- company of this mode as live.
ALTER TABLE companies DROP CONSTRAINT companies_mode_check;
ALTER TABLE companies ADD CONSTRAINT companies_mode_check CHECK (mode IN ('sandbox', 'rehearsal', 'live'));
