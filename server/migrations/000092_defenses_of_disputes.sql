-- expand, runs with 0.1.0
-- The reason for which the processor is to defend a dispute, and what is sent as each of its documents; null without a choice.
ALTER TABLE disputes ADD COLUMN defense json;
