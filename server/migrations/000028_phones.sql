-- Phones of customers are kept in E.164, as they are returned. They are still compared by their digits.
UPDATE customers SET phone = '+' || phone_key WHERE phone <> '+' || phone_key;
ALTER TABLE customers ADD CONSTRAINT customers_phone_e164 CHECK (phone = '+' || phone_key AND phone ~ '^\+[1-9][0-9]{6,14}$');

-- The number of a person, of whatever country. A membership shows it where it is a US number, as the API promises, else null.
ALTER TABLE users ADD COLUMN phone_number text
  CONSTRAINT users_phone_e164 CHECK (phone_number ~ '^\+[1-9][0-9]{6,14}$');
UPDATE users u SET phone_number = t.phone_number
FROM memberships m JOIN team_members t ON t.company_id = m.company_id AND t.id = m.member_id
WHERE m.user_id = u.id AND t.phone_number IS NOT NULL;
-- Until the invitation is accepted, there may be no person who has it.
ALTER TABLE team_members ADD COLUMN invited_phone text
  CONSTRAINT team_members_phone_e164 CHECK (invited_phone ~ '^\+[1-9][0-9]{6,14}$'),
  ADD CONSTRAINT team_members_phone_us CHECK (phone_number ~ '^\+1[0-9]{10}$');
