-- Members without a US number have none here. Databases from before the release of 0.1.0 may have the column so already.
ALTER TABLE team_members ALTER COLUMN phone_number DROP NOT NULL;
