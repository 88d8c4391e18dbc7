-- expand, runs with 0.1.0
-- The W3C trace context of the request that caused the event, if traces are on: the span of a delivery links to it.
ALTER TABLE events ADD COLUMN trace text;
