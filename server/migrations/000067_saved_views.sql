-- expand, runs with 0.1.0
-- Filters of a list of the dashboard that a member keeps under a name.
CREATE TABLE saved_views (
  company_id uuid NOT NULL,
  member_id uuid NOT NULL,
  id uuid NOT NULL,
  list text NOT NULL,
  name text NOT NULL CHECK (name <> ''),
  -- The filters and the order, as in the address of the page.
  search jsonb NOT NULL,
  PRIMARY KEY (company_id, id),
  CONSTRAINT saved_views_name UNIQUE (company_id, member_id, list, name),
  FOREIGN KEY (company_id, member_id) REFERENCES team_members (company_id, id) ON DELETE CASCADE
);
