-- Since when a card waits to be erased: its due time moves with each attempt.
ALTER TABLE unreferenced_cards ADD COLUMN noted_at timestamptz NOT NULL DEFAULT now();
