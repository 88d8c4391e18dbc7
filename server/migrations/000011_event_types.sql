-- Events of a rare type are listed without a walk over all the others. Every order has those that are left out: the first
-- page of them is near, and an order does not pay for an index of them.
CREATE INDEX events_rare_type ON events (company_id, type, id) WHERE type NOT IN ('order.created', 'order.succeeded');
