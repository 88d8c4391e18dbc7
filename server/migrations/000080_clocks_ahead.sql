-- expand, runs with 0.1.0
CREATE INDEX CONCURRENTLY companies_clocks_ahead ON companies (id) INCLUDE (clock_offset_ms) WHERE clock_offset_ms > 0;
