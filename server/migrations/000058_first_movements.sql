-- expand, runs with 0.1.0
-- The worker adds the movements of subscriptions that are older than the table, in small steps: one statement for all of
-- them would stop every change of a subscription until it has ended. The days of a company are summed after that.
INSERT INTO figure_states (company_id, movements_after)
SELECT id, '00000000-0000-0000-0000-000000000000' FROM companies
ON CONFLICT DO NOTHING;
