-- expand, runs with 0.1.0
CREATE UNIQUE INDEX CONCURRENTLY payment_links_slug ON payment_links (company_id, slug) WHERE slug IS NOT NULL;
