-- Fields that programs fill and in which something looked like a card number: by name only, never with the value.
CREATE TABLE card_warnings (
  company_id uuid NOT NULL REFERENCES companies (id),
  -- Method and path of the call, such as `POST /v1/customers`.
  operation text NOT NULL,
  field text NOT NULL,
  first_seen_at timestamptz NOT NULL DEFAULT now(),
  last_seen_at timestamptz NOT NULL DEFAULT now(),
  -- Seen again after that, it is shown again.
  dismissed_at timestamptz,
  PRIMARY KEY (company_id, operation, field)
);
