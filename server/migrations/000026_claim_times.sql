-- Since when a worker has a delivery, in real time: one that it forgot is found by that.
ALTER TABLE webhook_deliveries ADD COLUMN claimed_at timestamptz;
