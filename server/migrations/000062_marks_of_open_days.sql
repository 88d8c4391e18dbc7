-- expand, runs with 0.1.0
-- Every change of a company whose days are summed leaves a mark, also in a day that is still open: days can then be summed again in
-- another time zone at once, without waiting for the transactions that are under way.
CREATE OR REPLACE FUNCTION mark_figures(of_company uuid, changed timestamptz) RETURNS void LANGUAGE sql AS $$
  INSERT INTO figure_marks (company_id, at)
  SELECT of_company, changed FROM figure_states s WHERE s.company_id = of_company
$$;
