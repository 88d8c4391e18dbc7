-- The schema after all migrations. Written by the test of the schema.

CREATE TABLE agent_approvals (
  company_id uuid NOT NULL,
  id uuid NOT NULL,
  key_id uuid NOT NULL,
  key_name text NOT NULL,
  tool text NOT NULL,
  object_id uuid NOT NULL,
  arguments_hash text NOT NULL,
  question text NOT NULL,
  amount bigint,
  currency text,
  request jsonb NOT NULL,
  asked_in text NOT NULL,
  state text NOT NULL DEFAULT 'waiting'::text,
  created_at timestamp with time zone NOT NULL,
  expires_at timestamp with time zone NOT NULL,
  decided_at timestamp with time zone,
  decided_by uuid,
  decided_by_name text,
  used_at timestamp with time zone,
  finished_at timestamp with time zone,
  CONSTRAINT agent_approvals_asked_in_check CHECK ((asked_in = ANY (ARRAY['client'::text, 'dashboard'::text]))),
  CONSTRAINT agent_approvals_check CHECK (((amount IS NULL) = (currency IS NULL))),
  CONSTRAINT agent_approvals_check1 CHECK (((state <> ALL (ARRAY['approved'::text, 'refused'::text, 'used'::text])) OR (decided_at IS NOT NULL))),
  CONSTRAINT agent_approvals_check2 CHECK (((state = 'used'::text) = (used_at IS NOT NULL))),
  CONSTRAINT agent_approvals_check3 CHECK (((finished_at IS NULL) OR (used_at IS NOT NULL))),
  CONSTRAINT agent_approvals_company_id_key_id_fkey FOREIGN KEY (company_id, key_id) REFERENCES api_keys(company_id, id),
  CONSTRAINT agent_approvals_pkey PRIMARY KEY (company_id, id),
  CONSTRAINT agent_approvals_state_check CHECK ((state = ANY (ARRAY['waiting'::text, 'approved'::text, 'refused'::text, 'used'::text, 'expired'::text]))),
  CONSTRAINT agent_approvals_tool_check CHECK ((tool = ANY (ARRAY['refund_order'::text, 'retry_order'::text, 'cancel_subscription'::text])))
);
CREATE INDEX agent_approvals_of_key ON public.agent_approvals USING btree (company_id, key_id, created_at);
CREATE INDEX agent_approvals_old ON public.agent_approvals USING btree (created_at);
CREATE UNIQUE INDEX agent_approvals_open ON public.agent_approvals USING btree (company_id, tool, object_id) WHERE (state = ANY (ARRAY['waiting'::text, 'approved'::text]));

CREATE TABLE api_key_lookups (
  lookup_id text NOT NULL,
  company_id uuid NOT NULL,
  api_key_id uuid NOT NULL,
  created_at timestamp with time zone NOT NULL DEFAULT now(),
  of_session boolean NOT NULL DEFAULT false,
  session_id uuid,
  CONSTRAINT api_key_lookups_pkey PRIMARY KEY (lookup_id),
  CONSTRAINT api_key_lookups_session CHECK ((of_session OR (session_id IS NULL))),
  CONSTRAINT api_key_lookups_session_id_fkey FOREIGN KEY (session_id) REFERENCES sessions(id) ON DELETE SET NULL
);
CREATE INDEX api_key_lookups_session_id ON public.api_key_lookups USING btree (session_id) WHERE (session_id IS NOT NULL);
CREATE TRIGGER api_key_lookups_ended AFTER UPDATE OF session_id ON public.api_key_lookups FOR EACH ROW EXECUTE FUNCTION notify_access_changed_of('company_id');

CREATE TABLE api_keys (
  company_id uuid NOT NULL,
  id uuid NOT NULL,
  kind text NOT NULL,
  name text NOT NULL,
  lookup_id text NOT NULL,
  secret_hash bytea NOT NULL,
  permissions text[] NOT NULL,
  allowed_addresses text[] NOT NULL,
  expires_at timestamp with time zone,
  revoked_at timestamp with time zone,
  last_used_at timestamp with time zone,
  CONSTRAINT api_keys_company_id_fkey FOREIGN KEY (company_id) REFERENCES companies(id),
  CONSTRAINT api_keys_kind_check CHECK ((kind = ANY (ARRAY['secret'::text, 'publishable'::text]))),
  CONSTRAINT api_keys_pkey PRIMARY KEY (company_id, id),
  CONSTRAINT api_keys_secret_hash_check CHECK ((octet_length(secret_hash) = 32))
);
CREATE TRIGGER api_keys_changed AFTER DELETE OR UPDATE OF permissions, allowed_addresses, expires_at, revoked_at, secret_hash ON public.api_keys FOR EACH ROW EXECUTE FUNCTION notify_access_changed_of('company_id');

CREATE TABLE audit_entries (
  company_id uuid NOT NULL,
  id uuid NOT NULL,
  actor_kind text NOT NULL,
  actor_id uuid,
  actor_name text NOT NULL,
  action text NOT NULL,
  object_id text,
  fields text[] NOT NULL,
  address text NOT NULL,
  request_id text NOT NULL,
  CONSTRAINT audit_entries_actor_check CHECK (((actor_id IS NULL) = (actor_kind = 'operator'::text))),
  CONSTRAINT audit_entries_actor_kind_check CHECK ((actor_kind = ANY (ARRAY['key'::text, 'member'::text, 'operator'::text]))),
  CONSTRAINT audit_entries_company_id_fkey FOREIGN KEY (company_id) REFERENCES companies(id),
  CONSTRAINT audit_entries_pkey PRIMARY KEY (company_id, id)
);
CREATE INDEX audit_entries_actor ON public.audit_entries USING btree (company_id, actor_id, id);
CREATE INDEX audit_entries_object ON public.audit_entries USING btree (company_id, object_id, id);

CREATE TABLE bulk_refund_orders (
  company_id uuid NOT NULL,
  bulk_id uuid NOT NULL,
  order_id uuid NOT NULL,
  amount bigint NOT NULL,
  currency text NOT NULL,
  state text NOT NULL DEFAULT 'waiting'::text,
  refund_id uuid,
  reason text,
  attempts integer NOT NULL DEFAULT 0,
  check_at timestamp with time zone DEFAULT now(),
  CONSTRAINT bulk_refund_orders_amount_check CHECK ((amount > 0)),
  CONSTRAINT bulk_refund_orders_check CHECK (((state = 'waiting'::text) = (check_at IS NOT NULL))),
  CONSTRAINT bulk_refund_orders_check1 CHECK (((state = 'refused'::text) = (reason IS NOT NULL))),
  CONSTRAINT bulk_refund_orders_check2 CHECK (((state = 'sent'::text) = (refund_id IS NOT NULL))),
  CONSTRAINT bulk_refund_orders_company_id_bulk_id_fkey FOREIGN KEY (company_id, bulk_id) REFERENCES bulk_refunds(company_id, id),
  CONSTRAINT bulk_refund_orders_company_id_order_id_fkey FOREIGN KEY (company_id, order_id) REFERENCES orders(company_id, id),
  CONSTRAINT bulk_refund_orders_pkey PRIMARY KEY (company_id, bulk_id, order_id),
  CONSTRAINT bulk_refund_orders_state_check CHECK ((state = ANY (ARRAY['waiting'::text, 'sent'::text, 'refused'::text])))
);
CREATE INDEX bulk_refund_orders_due ON public.bulk_refund_orders USING btree (company_id, check_at) WHERE (state = 'waiting'::text);
CREATE UNIQUE INDEX bulk_refund_orders_waiting ON public.bulk_refund_orders USING btree (company_id, order_id) WHERE (state = 'waiting'::text);

CREATE TABLE bulk_refunds (
  company_id uuid NOT NULL,
  id uuid NOT NULL,
  member_id uuid NOT NULL,
  request_id text NOT NULL,
  CONSTRAINT bulk_refunds_company_id_fkey FOREIGN KEY (company_id) REFERENCES companies(id),
  CONSTRAINT bulk_refunds_pkey PRIMARY KEY (company_id, id)
);

CREATE TABLE card_setups (
  company_id uuid NOT NULL,
  payment_method_id uuid NOT NULL,
  customer_id uuid NOT NULL,
  connection_id uuid,
  step bytea,
  customer_until timestamp with time zone NOT NULL,
  check_at timestamp with time zone NOT NULL,
  session_id uuid,
  noticed json,
  CONSTRAINT card_setups_card FOREIGN KEY (company_id, payment_method_id) REFERENCES payment_methods(company_id, id) ON DELETE CASCADE,
  CONSTRAINT card_setups_pkey PRIMARY KEY (company_id, payment_method_id)
);
CREATE INDEX card_setups_check ON public.card_setups USING btree (check_at);
CREATE UNIQUE INDEX card_setups_customer ON public.card_setups USING btree (company_id, customer_id);

CREATE TABLE card_testing (
  company_id uuid NOT NULL,
  started_at timestamp with time zone NOT NULL,
  last_at timestamp with time zone NOT NULL,
  declined integer NOT NULL,
  CONSTRAINT card_testing_company_id_fkey FOREIGN KEY (company_id) REFERENCES companies(id),
  CONSTRAINT card_testing_pkey PRIMARY KEY (company_id)
);

CREATE TABLE card_tokens (
  token_hash bytea NOT NULL,
  company_id uuid NOT NULL,
  card_id uuid NOT NULL,
  brand text NOT NULL,
  last4 text NOT NULL,
  exp_month smallint NOT NULL,
  exp_year smallint NOT NULL,
  fingerprint text NOT NULL,
  requires_billing boolean NOT NULL,
  billing_details jsonb,
  expires_at timestamp with time zone NOT NULL,
  used_at timestamp with time zone,
  verification jsonb,
  CONSTRAINT card_tokens_pkey PRIMARY KEY (token_hash)
);
CREATE INDEX card_tokens_expiry ON public.card_tokens USING btree (expires_at);

CREATE TABLE card_warnings (
  company_id uuid NOT NULL,
  operation text NOT NULL,
  field text NOT NULL,
  first_seen_at timestamp with time zone NOT NULL DEFAULT now(),
  last_seen_at timestamp with time zone NOT NULL DEFAULT now(),
  dismissed_at timestamp with time zone,
  CONSTRAINT card_warnings_company_id_fkey FOREIGN KEY (company_id) REFERENCES companies(id),
  CONSTRAINT card_warnings_pkey PRIMARY KEY (company_id, operation, field)
);

CREATE TABLE checkout_payments (
  company_id uuid NOT NULL,
  session_id uuid NOT NULL,
  number integer NOT NULL,
  state text NOT NULL,
  input jsonb NOT NULL,
  total bigint NOT NULL,
  started_at timestamp with time zone NOT NULL DEFAULT now(),
  valid_until timestamp with time zone NOT NULL DEFAULT (now() + '23:00:00'::interval),
  check_at timestamp with time zone,
  customer_until timestamp with time zone,
  CONSTRAINT checkout_payments_check CHECK (((state = 'open'::text) = (check_at IS NOT NULL))),
  CONSTRAINT checkout_payments_company_id_session_id_fkey FOREIGN KEY (company_id, session_id) REFERENCES checkout_sessions(company_id, id) ON DELETE CASCADE,
  CONSTRAINT checkout_payments_pkey PRIMARY KEY (company_id, session_id, number),
  CONSTRAINT checkout_payments_state_check CHECK ((state = ANY (ARRAY['open'::text, 'succeeded'::text, 'ended'::text])))
);
CREATE INDEX checkout_payments_due ON public.checkout_payments USING btree (check_at) WHERE (state = 'open'::text);
CREATE UNIQUE INDEX checkout_payments_one ON public.checkout_payments USING btree (company_id, session_id) WHERE (state <> 'ended'::text);
CREATE TRIGGER checkout_payments_captured_later BEFORE INSERT ON public.checkout_payments FOR EACH ROW WHEN (((new.input ->> 'kind'::text) <> 'authorization'::text)) EXECUTE FUNCTION refuse_charge_at_once();

CREATE TABLE checkout_sessions (
  company_id uuid NOT NULL,
  id uuid NOT NULL,
  token_hash bytea NOT NULL,
  sealed_token bytea,
  mode text NOT NULL,
  status text NOT NULL DEFAULT 'open'::text,
  items jsonb NOT NULL,
  plan_id uuid,
  customer_id uuid,
  made_customer_id uuid,
  success_url text,
  cancel_url text,
  coupon_code text,
  allow_coupons boolean NOT NULL,
  collect text[] NOT NULL,
  metadata jsonb NOT NULL,
  payment_link_id uuid,
  order_id uuid,
  subscription_id uuid,
  attempts integer NOT NULL DEFAULT 0,
  failure jsonb,
  expires_at timestamp with time zone NOT NULL,
  completed_at timestamp with time zone,
  updated_at timestamp with time zone NOT NULL,
  capture text NOT NULL DEFAULT 'automatic'::text,
  payment_method_id uuid,
  locale text,
  CONSTRAINT checkout_sessions_capture_check CHECK (((capture = ANY (ARRAY['automatic'::text, 'manual'::text])) AND ((capture = 'automatic'::text) OR (mode = 'payment'::text)))),
  CONSTRAINT checkout_sessions_check CHECK (((mode = 'subscription'::text) = (plan_id IS NOT NULL))),
  CONSTRAINT checkout_sessions_check1 CHECK (((status = 'completed'::text) = (completed_at IS NOT NULL))),
  CONSTRAINT checkout_sessions_check3 CHECK (((status = 'open'::text) = (sealed_token IS NOT NULL))),
  CONSTRAINT checkout_sessions_company_id_fkey FOREIGN KEY (company_id) REFERENCES companies(id),
  CONSTRAINT checkout_sessions_company_id_token_hash_key UNIQUE (company_id, token_hash),
  CONSTRAINT checkout_sessions_completed CHECK (((status <> 'completed'::text) OR (((mode = 'setup'::text) = (order_id IS NULL)) AND ((mode = 'setup'::text) = (payment_method_id IS NOT NULL))))),
  CONSTRAINT checkout_sessions_locale_check CHECK ((locale ~ '^[a-z]{2}(-([A-Z]{2}|[0-9]{3}))?$'::text)),
  CONSTRAINT checkout_sessions_mode_check CHECK ((mode = ANY (ARRAY['payment'::text, 'subscription'::text, 'setup'::text]))),
  CONSTRAINT checkout_sessions_pkey PRIMARY KEY (company_id, id),
  CONSTRAINT checkout_sessions_setup_has_customer CHECK (((mode <> 'setup'::text) OR (customer_id IS NOT NULL))),
  CONSTRAINT checkout_sessions_status_check CHECK ((status = ANY (ARRAY['open'::text, 'completed'::text, 'expired'::text])))
);
CREATE INDEX checkout_sessions_customer ON public.checkout_sessions USING btree (company_id, customer_id, id) WHERE (customer_id IS NOT NULL);
CREATE INDEX checkout_sessions_due ON public.checkout_sessions USING btree (expires_at) WHERE (status = 'open'::text);
CREATE INDEX checkout_sessions_due_of_company ON public.checkout_sessions USING btree (company_id, expires_at) WHERE (status = 'open'::text);
CREATE INDEX checkout_sessions_link ON public.checkout_sessions USING btree (company_id, payment_link_id, id) WHERE (payment_link_id IS NOT NULL);
CREATE INDEX checkout_sessions_old ON public.checkout_sessions USING btree (expires_at) WHERE (status = 'expired'::text);
CREATE INDEX checkout_sessions_status ON public.checkout_sessions USING btree (company_id, status, id);
CREATE TRIGGER checkout_sessions_capture_as_link BEFORE INSERT ON public.checkout_sessions FOR EACH ROW WHEN ((new.payment_link_id IS NOT NULL)) EXECUTE FUNCTION capture_as_link();

CREATE TABLE companies (
  id uuid NOT NULL,
  account_id uuid NOT NULL,
  name text NOT NULL,
  mode text NOT NULL,
  api_version text NOT NULL,
  clock_offset_ms bigint NOT NULL DEFAULT 0,
  processor text,
  dunning_days smallint[] NOT NULL DEFAULT '{1,3,5,7}'::smallint[],
  after_dunning text NOT NULL DEFAULT 'failed'::text,
  clock_moved_until timestamp with time zone,
  request_life_ms integer NOT NULL DEFAULT 60000,
  connection_id uuid,
  time_zone text NOT NULL DEFAULT 'UTC'::text,
  gate text,
  card_rules jsonb NOT NULL DEFAULT '{}'::jsonb,
  authenticates boolean NOT NULL DEFAULT false,
  locale text,
  CONSTRAINT companies_account_id_mode_key UNIQUE (account_id, mode),
  CONSTRAINT companies_after_dunning_check CHECK ((after_dunning = ANY (ARRAY['failed'::text, 'canceled'::text]))),
  CONSTRAINT companies_authenticates_in_sandbox CHECK (((NOT authenticates) OR (mode = 'sandbox'::text))),
  CONSTRAINT companies_check CHECK (((processor IS NULL) OR ((processor = 'sandbox'::text) = (mode = 'sandbox'::text)))),
  CONSTRAINT companies_clock_offset_ms_check CHECK ((clock_offset_ms >= 0)),
  CONSTRAINT companies_dunning_days_check CHECK (((cardinality(dunning_days) >= 1) AND (cardinality(dunning_days) <= 10))),
  CONSTRAINT companies_gate_check CHECK ((gate = ANY (ARRAY['closed'::text, 'renewals_wait'::text, 'remembers'::text]))),
  CONSTRAINT companies_locale_check CHECK ((locale ~ '^[a-z]{2}(-([A-Z]{2}|[0-9]{3}))?$'::text)),
  CONSTRAINT companies_mode_check CHECK ((mode = ANY (ARRAY['sandbox'::text, 'rehearsal'::text, 'live'::text]))),
  CONSTRAINT companies_pkey PRIMARY KEY (id),
  CONSTRAINT companies_processor_check CHECK ((processor = ANY (ARRAY['sandbox'::text, 'acquirer'::text, 'connected'::text]))),
  CONSTRAINT companies_request_life_ms_check CHECK ((request_life_ms > 0))
);
CREATE INDEX companies_clocks_ahead ON public.companies USING btree (id) INCLUDE (clock_offset_ms) WHERE (clock_offset_ms > 0);
CREATE TRIGGER companies_changed AFTER DELETE OR UPDATE ON public.companies FOR EACH ROW EXECUTE FUNCTION notify_access_changed_of('id');
CREATE TRIGGER companies_figures AFTER INSERT OR UPDATE OF time_zone, clock_offset_ms, clock_moved_until ON public.companies FOR EACH ROW EXECUTE FUNCTION make_figures_due();
CREATE TRIGGER companies_order_cursor AFTER INSERT ON public.companies FOR EACH ROW EXECUTE FUNCTION add_order_cursor();

CREATE TABLE company_fences (
  company_id uuid NOT NULL,
  state text NOT NULL,
  since timestamp with time zone NOT NULL DEFAULT now(),
  CONSTRAINT company_fences_pkey PRIMARY KEY (company_id),
  CONSTRAINT company_fences_state_check CHECK ((state = ANY (ARRAY['leaving'::text, 'left'::text, 'arriving'::text])))
);

CREATE TABLE company_gates (
  company_id uuid NOT NULL,
  restore_id uuid,
  noticed_by text NOT NULL,
  detail text NOT NULL,
  closed_at timestamp with time zone NOT NULL DEFAULT now(),
  books_until timestamp with time zone,
  lost_connections jsonb NOT NULL DEFAULT '[]'::jsonb,
  waits_for text NOT NULL DEFAULT 'comparison'::text,
  failure text,
  failures integer NOT NULL DEFAULT 0,
  next_compare_at timestamp with time zone NOT NULL DEFAULT now(),
  opened_at timestamp with time zone,
  compared_until timestamp with time zone,
  CONSTRAINT company_gates_check CHECK (((opened_at IS NULL) = (compared_until IS NULL))),
  CONSTRAINT company_gates_company_id_fkey FOREIGN KEY (company_id) REFERENCES companies(id),
  CONSTRAINT company_gates_noticed_by_check CHECK ((noticed_by = ANY (ARRAY['operator'::text, 'high_water_mark'::text, 'earlier_result'::text]))),
  CONSTRAINT company_gates_pkey PRIMARY KEY (company_id),
  CONSTRAINT company_gates_waits_for_check CHECK ((waits_for = ANY (ARRAY['comparison'::text, 'second_list'::text, 'processor'::text, 'connection'::text, 'operator'::text])))
);

CREATE TABLE company_names (
  name text NOT NULL,
  company_id uuid NOT NULL,
  created_at timestamp with time zone NOT NULL DEFAULT now(),
  CONSTRAINT company_names_pkey PRIMARY KEY (name)
);
CREATE INDEX company_names_of_company ON public.company_names USING btree (company_id);

CREATE TABLE company_profiles (
  company_id uuid NOT NULL,
  display_name text,
  logo bytea,
  logo_id uuid,
  color text,
  support_email text,
  website text,
  address jsonb,
  tax_id text,
  emails jsonb NOT NULL DEFAULT '{}'::jsonb,
  customer_page jsonb NOT NULL DEFAULT '{}'::jsonb,
  updated_at timestamp with time zone NOT NULL DEFAULT now(),
  link_name text,
  terms_url text,
  terms_version text,
  texts jsonb NOT NULL DEFAULT '{}'::jsonb,
  CONSTRAINT company_profiles_check CHECK (((logo IS NULL) = (logo_id IS NULL))),
  CONSTRAINT company_profiles_color_check CHECK ((color ~ '^#[0-9a-f]{6}$'::text)),
  CONSTRAINT company_profiles_company_id_fkey FOREIGN KEY (company_id) REFERENCES companies(id),
  CONSTRAINT company_profiles_logo_check CHECK ((octet_length(logo) <= 262144)),
  CONSTRAINT company_profiles_pkey PRIMARY KEY (company_id),
  CONSTRAINT company_profiles_terms_version CHECK (((terms_url IS NULL) = (terms_version IS NULL))),
  CONSTRAINT company_profiles_texts_check CHECK ((jsonb_typeof(texts) = 'object'::text)),
  CONSTRAINT company_profiles_texts_terms CHECK ((NOT jsonb_path_exists(texts, '$.*?(exists (@."terms_url") && !(exists (@."terms_version")) || exists (@."terms_version") && !(exists (@."terms_url")))'::jsonpath)))
);

CREATE TABLE company_shards (
  company_id uuid NOT NULL,
  shard text NOT NULL,
  moving_to text,
  moving_since timestamp with time zone,
  CONSTRAINT company_shards_check CHECK (((moving_to IS NULL) = (moving_since IS NULL))),
  CONSTRAINT company_shards_pkey PRIMARY KEY (company_id)
);
CREATE TRIGGER company_shards_changed AFTER INSERT OR DELETE OR UPDATE ON public.company_shards FOR EACH ROW EXECUTE FUNCTION notify_access_changed_of('company_id');

CREATE TABLE consents (
  company_id uuid NOT NULL,
  order_id uuid NOT NULL,
  kind text NOT NULL,
  subscription_id uuid,
  text text NOT NULL,
  version text NOT NULL,
  locale text NOT NULL,
  url text,
  given_at timestamp with time zone NOT NULL,
  CONSTRAINT consents_company_id_fkey FOREIGN KEY (company_id) REFERENCES companies(id) ON DELETE CASCADE,
  CONSTRAINT consents_has_text CHECK ((text <> ''::text)),
  CONSTRAINT consents_has_version CHECK ((version <> ''::text)),
  CONSTRAINT consents_kind CHECK ((kind = ANY (ARRAY['terms'::text, 'renewal'::text, 'save_card'::text]))),
  CONSTRAINT consents_pkey PRIMARY KEY (company_id, order_id, kind),
  CONSTRAINT consents_renewal_of_subscription CHECK (((kind <> 'renewal'::text) OR (subscription_id IS NOT NULL))),
  CONSTRAINT consents_terms_have_url CHECK (((url IS NOT NULL) = (kind = 'terms'::text)))
);
CREATE INDEX consents_subscription ON public.consents USING btree (company_id, subscription_id) WHERE (subscription_id IS NOT NULL);

CREATE TABLE coupon_codes (
  company_id uuid NOT NULL,
  id uuid NOT NULL,
  coupon_id uuid NOT NULL,
  code text NOT NULL,
  redemptions integer NOT NULL DEFAULT 0,
  used integer NOT NULL DEFAULT 0,
  CONSTRAINT coupon_codes_check CHECK (((redemptions >= 0) AND (redemptions <= used))),
  CONSTRAINT coupon_codes_code UNIQUE (company_id, code),
  CONSTRAINT coupon_codes_company_id_coupon_id_fkey FOREIGN KEY (company_id, coupon_id) REFERENCES coupons(company_id, id),
  CONSTRAINT coupon_codes_pkey PRIMARY KEY (company_id, coupon_id, id)
);

CREATE TABLE coupon_redemptions (
  company_id uuid NOT NULL,
  id uuid NOT NULL,
  coupon_id uuid NOT NULL,
  code_id uuid NOT NULL,
  customer_id uuid NOT NULL,
  counted boolean NOT NULL,
  waits boolean NOT NULL,
  CONSTRAINT coupon_redemptions_check CHECK ((NOT (counted AND waits))),
  CONSTRAINT coupon_redemptions_company_id_coupon_id_code_id_fkey FOREIGN KEY (company_id, coupon_id, code_id) REFERENCES coupon_codes(company_id, coupon_id, id),
  CONSTRAINT coupon_redemptions_pkey PRIMARY KEY (company_id, id)
);
CREATE INDEX coupon_redemptions_customer ON public.coupon_redemptions USING btree (company_id, coupon_id, customer_id);
CREATE INDEX coupon_redemptions_waiting ON public.coupon_redemptions USING btree (company_id, coupon_id) WHERE waits;

CREATE TABLE coupons (
  company_id uuid NOT NULL,
  id uuid NOT NULL,
  kind text NOT NULL,
  name text NOT NULL,
  description text,
  percentage_hundredths integer,
  amount bigint,
  max_discount_amount bigint,
  currency text,
  duration text NOT NULL,
  duration_in_cycles integer,
  minimum_amount bigint NOT NULL,
  max_redemptions integer,
  max_redemptions_per_customer integer,
  max_redemptions_per_code integer,
  first_time_customer_only boolean NOT NULL,
  starts_at timestamp with time zone,
  expires_at timestamp with time zone,
  active boolean NOT NULL,
  archived_at timestamp with time zone,
  product_scope text NOT NULL,
  plan_scope text NOT NULL,
  product_ids uuid[] NOT NULL,
  plan_ids uuid[] NOT NULL,
  code_prefix text,
  total_redemptions integer NOT NULL DEFAULT 0,
  used integer NOT NULL DEFAULT 0,
  updated_at timestamp with time zone NOT NULL,
  code_count integer,
  CONSTRAINT coupons_amount_check CHECK ((amount > 0)),
  CONSTRAINT coupons_check CHECK (((total_redemptions >= 0) AND (total_redemptions <= used))),
  CONSTRAINT coupons_check1 CHECK (((percentage_hundredths IS NULL) <> (amount IS NULL))),
  CONSTRAINT coupons_check2 CHECK (((amount IS NULL) OR ((max_discount_amount IS NULL) AND (currency IS NOT NULL)))),
  CONSTRAINT coupons_check3 CHECK (((percentage_hundredths IS NULL) OR (currency IS NULL))),
  CONSTRAINT coupons_check4 CHECK (((duration = 'repeating'::text) = (duration_in_cycles IS NOT NULL))),
  CONSTRAINT coupons_check5 CHECK (((archived_at IS NULL) OR (NOT active))),
  CONSTRAINT coupons_company_id_fkey FOREIGN KEY (company_id) REFERENCES companies(id),
  CONSTRAINT coupons_duration_check CHECK ((duration = ANY (ARRAY['once'::text, 'repeating'::text, 'forever'::text]))),
  CONSTRAINT coupons_duration_in_cycles_check CHECK ((duration_in_cycles > 0)),
  CONSTRAINT coupons_kind_check CHECK ((kind = ANY (ARRAY['generated'::text, 'promo'::text]))),
  CONSTRAINT coupons_max_discount_amount_check CHECK ((max_discount_amount > 0)),
  CONSTRAINT coupons_max_redemptions_check CHECK ((max_redemptions > 0)),
  CONSTRAINT coupons_max_redemptions_per_code_check CHECK ((max_redemptions_per_code > 0)),
  CONSTRAINT coupons_max_redemptions_per_customer_check CHECK ((max_redemptions_per_customer > 0)),
  CONSTRAINT coupons_minimum_amount_check CHECK ((minimum_amount >= 0)),
  CONSTRAINT coupons_percentage_hundredths_check CHECK (((percentage_hundredths >= 100) AND (percentage_hundredths <= 10000))),
  CONSTRAINT coupons_pkey PRIMARY KEY (company_id, id),
  CONSTRAINT coupons_plan_scope_check CHECK ((plan_scope = ANY (ARRAY['none'::text, 'all'::text, 'specific'::text]))),
  CONSTRAINT coupons_product_scope_check CHECK ((product_scope = ANY (ARRAY['none'::text, 'all'::text, 'specific'::text]))),
  CONSTRAINT coupons_used_at_most_max CHECK ((used <= max_redemptions))
);
CREATE INDEX coupons_name ON public.coupons USING btree (company_id, name, id);
CREATE INDEX coupons_updated_at ON public.coupons USING btree (company_id, updated_at, id);

CREATE TABLE credit_balances (
  company_id uuid NOT NULL,
  customer_id uuid NOT NULL,
  currency text NOT NULL,
  balance bigint NOT NULL,
  entries integer NOT NULL,
  CONSTRAINT credit_balances_company_id_customer_id_fkey FOREIGN KEY (company_id, customer_id) REFERENCES customers(company_id, id),
  CONSTRAINT credit_balances_has_entries CHECK ((entries > 0)),
  CONSTRAINT credit_balances_not_negative CHECK ((balance >= 0)),
  CONSTRAINT credit_balances_pkey PRIMARY KEY (company_id, customer_id, currency)
);

CREATE TABLE credit_entries (
  company_id uuid NOT NULL,
  id uuid NOT NULL,
  customer_id uuid NOT NULL,
  currency text NOT NULL,
  number integer NOT NULL,
  type text NOT NULL,
  amount bigint NOT NULL,
  balance bigint NOT NULL,
  reason text,
  order_id uuid,
  subscription_id uuid,
  actor_name text,
  reference uuid,
  CONSTRAINT credit_entries_adds_up CHECK (((number > 1) OR (balance = amount))),
  CONSTRAINT credit_entries_company_id_customer_id_currency_fkey FOREIGN KEY (company_id, customer_id, currency) REFERENCES credit_balances(company_id, customer_id, currency),
  CONSTRAINT credit_entries_direction CHECK (((amount <> 0) AND ((amount > 0) = (type = ANY (ARRAY['grant'::text, 'plan_change'::text, 'order_failed'::text, 'order_voided'::text, 'refund'::text]))))),
  CONSTRAINT credit_entries_has_reason CHECK (((reason IS NOT NULL) = (type = ANY (ARRAY['grant'::text, 'take_back'::text])))),
  CONSTRAINT credit_entries_not_negative CHECK ((balance >= 0)),
  CONSTRAINT credit_entries_numbered CHECK ((number > 0)),
  CONSTRAINT credit_entries_of_order CHECK (((order_id IS NOT NULL) = (type = ANY (ARRAY['order'::text, 'order_failed'::text, 'order_voided'::text, 'refund'::text])))),
  CONSTRAINT credit_entries_once UNIQUE (company_id, customer_id, currency, number),
  CONSTRAINT credit_entries_pkey PRIMARY KEY (company_id, id),
  CONSTRAINT credit_entries_type CHECK ((type = ANY (ARRAY['grant'::text, 'take_back'::text, 'plan_change'::text, 'order'::text, 'order_failed'::text, 'order_voided'::text, 'refund'::text, 'customer_deleted'::text])))
);
CREATE INDEX credit_entries_customer ON public.credit_entries USING btree (company_id, customer_id, id);
CREATE INDEX credit_entries_order ON public.credit_entries USING btree (company_id, order_id) WHERE (order_id IS NOT NULL);
CREATE TRIGGER credit_refunds_credited AFTER INSERT ON public.credit_entries FOR EACH ROW WHEN ((new.type = 'refund'::text)) EXECUTE FUNCTION credit_refund_to_credit();

CREATE TABLE customer_sessions (
  company_id uuid NOT NULL,
  id uuid NOT NULL,
  token_hash bytea NOT NULL,
  customer_id uuid NOT NULL,
  return_url text,
  expires_at timestamp with time zone NOT NULL,
  CONSTRAINT customer_sessions_company_id_fkey FOREIGN KEY (company_id) REFERENCES companies(id),
  CONSTRAINT customer_sessions_company_id_token_hash_key UNIQUE (company_id, token_hash),
  CONSTRAINT customer_sessions_pkey PRIMARY KEY (company_id, id)
);
CREATE INDEX customer_sessions_expired ON public.customer_sessions USING btree (expires_at);
CREATE INDEX customer_sessions_of_customer ON public.customer_sessions USING btree (company_id, customer_id);

CREATE TABLE customers (
  company_id uuid NOT NULL,
  id uuid NOT NULL,
  email text NOT NULL,
  email_key text NOT NULL,
  first_name text NOT NULL,
  last_name text NOT NULL,
  phone text NOT NULL,
  phone_key text,
  company text,
  shipping_address jsonb,
  tags text[] NOT NULL,
  metadata jsonb NOT NULL,
  search tsvector NOT NULL,
  updated_at timestamp with time zone NOT NULL,
  deleted_at timestamp with time zone,
  default_payment_method_id uuid,
  sequence integer NOT NULL DEFAULT 1,
  locale text,
  tax_id text,
  CONSTRAINT customers_company_id_default_payment_method_id_fkey FOREIGN KEY (company_id, default_payment_method_id) REFERENCES payment_methods(company_id, id),
  CONSTRAINT customers_company_id_fkey FOREIGN KEY (company_id) REFERENCES companies(id),
  CONSTRAINT customers_locale_check CHECK ((locale ~ '^[a-z]{2}(-([A-Z]{2}|[0-9]{3}))?$'::text)),
  CONSTRAINT customers_phone_e164 CHECK (((phone = ('+'::text || phone_key)) AND (phone ~ '^\+[1-9][0-9]{6,14}$'::text))),
  CONSTRAINT customers_pkey PRIMARY KEY (company_id, id)
);
CREATE UNIQUE INDEX customers_email ON public.customers USING btree (company_id, email_key, (
CASE
    WHEN (deleted_at IS NULL) THEN company_id
    ELSE id
END));
CREATE UNIQUE INDEX customers_phone ON public.customers USING btree (company_id, phone_key, (
CASE
    WHEN (deleted_at IS NULL) THEN company_id
    ELSE id
END));
CREATE INDEX customers_search ON public.customers USING gin (search) WITH (gin_pending_list_limit='256');
CREATE INDEX customers_updated_at ON public.customers USING btree (company_id, updated_at, id);
CREATE TRIGGER customers_email_changed AFTER UPDATE OF email_key, deleted_at ON public.customers FOR EACH ROW WHEN (((old.email_key <> new.email_key) OR ((old.deleted_at IS NULL) AND (new.deleted_at IS NOT NULL)))) EXECUTE FUNCTION end_customer_sessions();
CREATE TRIGGER customers_removed AFTER DELETE ON public.customers FOR EACH ROW EXECUTE FUNCTION end_customer_sessions();

CREATE TABLE declarations (
  company_id uuid NOT NULL,
  id uuid NOT NULL,
  request uuid NOT NULL,
  kind text NOT NULL,
  name text NOT NULL,
  email text NOT NULL,
  contract text NOT NULL,
  message text,
  locale text NOT NULL,
  customer_id uuid,
  order_id uuid,
  subscription_id uuid,
  ends_at timestamp with time zone,
  handled_at timestamp with time zone,
  CONSTRAINT declarations_company_id_fkey FOREIGN KEY (company_id) REFERENCES companies(id) ON DELETE CASCADE,
  CONSTRAINT declarations_end_of_subscription CHECK (((ends_at IS NULL) OR ((subscription_id IS NOT NULL) AND (kind = 'cancel'::text)))),
  CONSTRAINT declarations_kind CHECK ((kind = ANY (ARRAY['cancel'::text, 'withdraw'::text]))),
  CONSTRAINT declarations_of_order CHECK (((customer_id IS NULL) = (order_id IS NULL))),
  CONSTRAINT declarations_pkey PRIMARY KEY (company_id, id)
);
CREATE INDEX declarations_open ON public.declarations USING btree (company_id, id) WHERE (handled_at IS NULL);
CREATE UNIQUE INDEX declarations_request ON public.declarations USING btree (company_id, request);

CREATE TABLE dispute_files (
  company_id uuid NOT NULL,
  dispute_id uuid NOT NULL,
  id uuid NOT NULL,
  kind text NOT NULL,
  name text NOT NULL,
  content_type text NOT NULL,
  content bytea NOT NULL,
  created_at timestamp with time zone NOT NULL DEFAULT now(),
  CONSTRAINT dispute_files_company_id_dispute_id_fkey FOREIGN KEY (company_id, dispute_id) REFERENCES disputes(company_id, id) ON DELETE CASCADE,
  CONSTRAINT dispute_files_content_check CHECK ((octet_length(content) <= 5242880)),
  CONSTRAINT dispute_files_content_type_check CHECK ((content_type = ANY (ARRAY['application/pdf'::text, 'image/jpeg'::text, 'image/png'::text]))),
  CONSTRAINT dispute_files_pkey PRIMARY KEY (company_id, dispute_id, id)
);

CREATE TABLE disputes (
  company_id uuid NOT NULL,
  id uuid NOT NULL,
  order_id uuid NOT NULL,
  transaction_id uuid NOT NULL,
  connection_id uuid,
  processor_id text NOT NULL,
  state text NOT NULL,
  amount bigint NOT NULL,
  currency text NOT NULL,
  reason text NOT NULL,
  network_reason_code text,
  evidence_due_at timestamp with time zone,
  evidence json NOT NULL DEFAULT '{}'::json,
  submitted_at timestamp with time zone,
  state_at timestamp with time zone NOT NULL,
  created_at timestamp with time zone NOT NULL,
  updated_at timestamp with time zone NOT NULL,
  defense json,
  CONSTRAINT disputes_amount_check CHECK ((amount > 0)),
  CONSTRAINT disputes_company_id_order_id_fkey FOREIGN KEY (company_id, order_id) REFERENCES orders(company_id, id),
  CONSTRAINT disputes_pkey PRIMARY KEY (company_id, id),
  CONSTRAINT disputes_state_check CHECK ((state = ANY (ARRAY['inquiry'::text, 'inquiry_closed'::text, 'needs_response'::text, 'under_review'::text, 'won'::text, 'lost'::text, 'accepted'::text])))
);
CREATE INDEX disputes_due ON public.disputes USING btree (evidence_due_at) WHERE (state = 'needs_response'::text);
CREATE INDEX disputes_due_of_company ON public.disputes USING btree (company_id, evidence_due_at) WHERE (state = 'needs_response'::text);
CREATE INDEX disputes_order ON public.disputes USING btree (company_id, order_id);
CREATE UNIQUE INDEX disputes_processor_id ON public.disputes USING btree (company_id, processor_id, COALESCE(connection_id, company_id));
CREATE TRIGGER disputes_figures AFTER UPDATE OF state, amount ON public.disputes FOR EACH ROW WHEN (((old.state <> new.state) OR (old.amount <> new.amount))) EXECUTE FUNCTION mark_changed_row();

CREATE TABLE draining_shards (
  shard text NOT NULL,
  since timestamp with time zone NOT NULL DEFAULT now(),
  CONSTRAINT draining_shards_pkey PRIMARY KEY (shard)
);

CREATE TABLE email_cursors (
  company_id uuid NOT NULL,
  after_id uuid NOT NULL,
  after_at timestamp with time zone NOT NULL DEFAULT now(),
  cards_checked_on date,
  CONSTRAINT email_cursors_company_id_fkey FOREIGN KEY (company_id) REFERENCES companies(id),
  CONSTRAINT email_cursors_pkey PRIMARY KEY (company_id)
);

CREATE TABLE email_opt_outs (
  company_id uuid NOT NULL,
  customer_id uuid NOT NULL,
  opted_out_at timestamp with time zone NOT NULL DEFAULT now(),
  CONSTRAINT email_opt_outs_company_id_customer_id_fkey FOREIGN KEY (company_id, customer_id) REFERENCES customers(company_id, id) ON DELETE CASCADE,
  CONSTRAINT email_opt_outs_pkey PRIMARY KEY (company_id, customer_id)
);

CREATE TABLE events (
  company_id uuid NOT NULL,
  id uuid NOT NULL,
  type text NOT NULL,
  object_id uuid NOT NULL,
  sequence integer NOT NULL,
  request_id text,
  object json NOT NULL,
  previous json,
  inserted_at timestamp with time zone NOT NULL DEFAULT now(),
  trace text,
  CONSTRAINT events_pkey PRIMARY KEY (company_id, id, inserted_at)
);
CREATE INDEX events_object ON ONLY public.events USING btree (company_id, object_id, id);
CREATE INDEX events_rare_type ON ONLY public.events USING btree (company_id, type, id) WHERE (type <> ALL (ARRAY['order.created'::text, 'order.succeeded'::text]));
CREATE TRIGGER events_fan_out AFTER INSERT ON public.events REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION fan_out_events();

CREATE TABLE events_default (
  company_id uuid NOT NULL,
  id uuid NOT NULL,
  type text NOT NULL,
  object_id uuid NOT NULL,
  sequence integer NOT NULL,
  request_id text,
  object json NOT NULL,
  previous json,
  inserted_at timestamp with time zone NOT NULL DEFAULT now(),
  trace text,
  CONSTRAINT events_default_pkey PRIMARY KEY (company_id, id, inserted_at)
);
CREATE INDEX events_default_company_id_object_id_id_idx ON public.events_default USING btree (company_id, object_id, id);
CREATE INDEX events_default_company_id_type_id_idx ON public.events_default USING btree (company_id, type, id) WHERE (type <> ALL (ARRAY['order.created'::text, 'order.succeeded'::text]));

CREATE TABLE export_chunks (
  company_id uuid NOT NULL,
  export_id uuid NOT NULL,
  number integer NOT NULL,
  content text NOT NULL,
  CONSTRAINT export_chunks_company_id_export_id_fkey FOREIGN KEY (company_id, export_id) REFERENCES exports(company_id, id) ON DELETE CASCADE,
  CONSTRAINT export_chunks_pkey PRIMARY KEY (company_id, export_id, number)
);

CREATE TABLE exports (
  company_id uuid NOT NULL,
  id uuid NOT NULL,
  member_id uuid NOT NULL,
  list text NOT NULL,
  query jsonb NOT NULL,
  permissions text[] NOT NULL,
  state text NOT NULL DEFAULT 'running'::text,
  reason text,
  rows integer NOT NULL DEFAULT 0,
  chunks integer NOT NULL DEFAULT 0,
  after_id uuid,
  leased_until timestamp with time zone NOT NULL DEFAULT now(),
  expires_at timestamp with time zone NOT NULL DEFAULT (now() + '1 day'::interval),
  CONSTRAINT exports_check CHECK (((state = 'failed'::text) = (reason IS NOT NULL))),
  CONSTRAINT exports_company_id_fkey FOREIGN KEY (company_id) REFERENCES companies(id),
  CONSTRAINT exports_pkey PRIMARY KEY (company_id, id),
  CONSTRAINT exports_state_check CHECK ((state = ANY (ARRAY['running'::text, 'ready'::text, 'failed'::text])))
);
CREATE INDEX exports_expiry ON public.exports USING btree (expires_at);
CREATE INDEX exports_failed ON public.exports USING btree (company_id, id) WHERE ((state = 'failed'::text) AND (chunks > 0));
CREATE INDEX exports_running ON public.exports USING btree (leased_until) WHERE (state = 'running'::text);

CREATE TABLE failed_order_links (
  company_id uuid NOT NULL,
  order_id uuid NOT NULL,
  payment_link_id uuid NOT NULL,
  total bigint NOT NULL,
  sent_at timestamp with time zone,
  CONSTRAINT failed_order_links_company_id_order_id_fkey FOREIGN KEY (company_id, order_id) REFERENCES orders(company_id, id) ON DELETE CASCADE,
  CONSTRAINT failed_order_links_company_id_payment_link_id_fkey FOREIGN KEY (company_id, payment_link_id) REFERENCES payment_links(company_id, id) ON DELETE CASCADE,
  CONSTRAINT failed_order_links_company_id_payment_link_id_key UNIQUE (company_id, payment_link_id),
  CONSTRAINT failed_order_links_pkey PRIMARY KEY (company_id, order_id),
  CONSTRAINT failed_order_links_total_check CHECK ((total > 0))
);

CREATE TABLE figure_days (
  company_id uuid NOT NULL,
  starts_at timestamp with time zone NOT NULL,
  zone text NOT NULL,
  day date NOT NULL,
  ends_at timestamp with time zone NOT NULL,
  figures jsonb,
  due_at timestamp with time zone NOT NULL,
  CONSTRAINT figure_days_check CHECK ((starts_at < ends_at)),
  CONSTRAINT figure_days_company_id_fkey FOREIGN KEY (company_id) REFERENCES companies(id),
  CONSTRAINT figure_days_pkey PRIMARY KEY (company_id, starts_at, zone)
);
CREATE INDEX figure_days_due ON public.figure_days USING btree (due_at) WHERE (figures IS NULL);
CREATE INDEX figure_days_unsummed ON public.figure_days USING btree (company_id, due_at) WHERE (figures IS NULL);

CREATE TABLE figure_marks (
  company_id uuid NOT NULL,
  at timestamp with time zone NOT NULL,
  id uuid NOT NULL DEFAULT gen_random_uuid(),
  CONSTRAINT figure_marks_company_id_fkey FOREIGN KEY (company_id) REFERENCES companies(id),
  CONSTRAINT figure_marks_pkey PRIMARY KEY (company_id, at, id)
);

CREATE TABLE figure_states (
  company_id uuid NOT NULL,
  zone text NOT NULL DEFAULT ''::text,
  zone_since timestamp with time zone NOT NULL DEFAULT '-infinity'::timestamp with time zone,
  clock_offset_ms bigint NOT NULL DEFAULT '-1'::integer,
  days_until timestamp with time zone NOT NULL DEFAULT '1970-01-01 00:00:00+00'::timestamp with time zone,
  movements_after uuid,
  due_at timestamp with time zone NOT NULL DEFAULT now(),
  CONSTRAINT figure_states_company_id_fkey FOREIGN KEY (company_id) REFERENCES companies(id) ON DELETE CASCADE,
  CONSTRAINT figure_states_pkey PRIMARY KEY (company_id)
);
CREATE INDEX figure_states_due ON public.figure_states USING btree (due_at);

CREATE TABLE idempotency_keys (
  company_id uuid NOT NULL,
  key text NOT NULL,
  method text NOT NULL,
  path text NOT NULL,
  field_hashes jsonb NOT NULL,
  request_id text NOT NULL,
  api_version text NOT NULL,
  status smallint,
  body text,
  expires_at timestamp with time zone NOT NULL,
  operation_id uuid,
  version_named boolean NOT NULL DEFAULT false,
  CONSTRAINT idempotency_keys_check CHECK (((status IS NULL) = (body IS NULL))),
  CONSTRAINT idempotency_keys_check1 CHECK (((status IS NOT NULL) OR (operation_id IS NOT NULL))),
  CONSTRAINT idempotency_keys_pkey PRIMARY KEY (company_id, key)
);
CREATE INDEX idempotency_keys_expiry ON public.idempotency_keys USING btree (expires_at);

CREATE TABLE installation (
  id uuid NOT NULL,
  CONSTRAINT installation_pkey PRIMARY KEY (id)
);

CREATE TABLE invoice_series (
  company_id uuid NOT NULL,
  label text NOT NULL,
  last_number integer NOT NULL,
  CONSTRAINT invoice_series_company_id_fkey FOREIGN KEY (company_id) REFERENCES companies(id) ON DELETE CASCADE,
  CONSTRAINT invoice_series_last_number CHECK ((last_number > 0)),
  CONSTRAINT invoice_series_pkey PRIMARY KEY (company_id, label)
);

CREATE TABLE invoice_settings (
  company_id uuid NOT NULL,
  enabled boolean NOT NULL,
  legal_name text,
  invoice_prefix text NOT NULL,
  credit_note_prefix text NOT NULL,
  with_year boolean NOT NULL,
  padding smallint NOT NULL,
  tax_rates jsonb NOT NULL DEFAULT '[]'::jsonb,
  restored_at timestamp with time zone,
  created_at timestamp with time zone NOT NULL DEFAULT now(),
  updated_at timestamp with time zone NOT NULL DEFAULT now(),
  attach_to_emails boolean NOT NULL DEFAULT false,
  business_rules jsonb NOT NULL DEFAULT '[]'::jsonb,
  CONSTRAINT invoice_settings_company_id_fkey FOREIGN KEY (company_id) REFERENCES companies(id) ON DELETE CASCADE,
  CONSTRAINT invoice_settings_credit_note_prefix CHECK ((credit_note_prefix ~ '^[A-Z0-9/_.-]{0,19}([A-Z/_.-]|^)$'::text)),
  CONSTRAINT invoice_settings_invoice_prefix CHECK ((invoice_prefix ~ '^[A-Z0-9/_.-]{0,19}([A-Z/_.-]|^)$'::text)),
  CONSTRAINT invoice_settings_padding CHECK (((padding >= 1) AND (padding <= 12))),
  CONSTRAINT invoice_settings_pkey PRIMARY KEY (company_id)
);

CREATE TABLE invoices (
  company_id uuid NOT NULL,
  id uuid NOT NULL,
  kind text NOT NULL,
  cause text NOT NULL,
  order_id uuid NOT NULL,
  customer_id uuid NOT NULL,
  subject_id uuid NOT NULL,
  amount bigint NOT NULL,
  currency text NOT NULL,
  content json,
  due_at timestamp with time zone NOT NULL DEFAULT (now() + '00:00:02'::interval),
  series text,
  number integer,
  full_number text,
  corrects_id uuid,
  reason text,
  CONSTRAINT invoices_amount CHECK ((amount >= 0)),
  CONSTRAINT invoices_cause CHECK ((cause = ANY (ARRAY['payment_recorded'::text, 'refund_settled'::text, 'refund_returned'::text, 'refunded_to_credit'::text, 'payment_voided'::text, 'invoice_canceled'::text, 'invoice_corrected'::text]))),
  CONSTRAINT invoices_content CHECK (((content IS NOT NULL) = (cause = ANY (ARRAY['payment_recorded'::text, 'invoice_corrected'::text])))),
  CONSTRAINT invoices_corrected_subject CHECK (((cause <> ALL (ARRAY['invoice_canceled'::text, 'invoice_corrected'::text])) OR (subject_id = corrects_id))),
  CONSTRAINT invoices_corrects CHECK (((corrects_id IS NULL) = (cause = 'payment_recorded'::text))),
  CONSTRAINT invoices_kind CHECK ((kind =
CASE
    WHEN (cause = ANY (ARRAY['refund_settled'::text, 'refunded_to_credit'::text, 'payment_voided'::text, 'invoice_canceled'::text])) THEN 'credit_note'::text
    ELSE 'invoice'::text
END)),
  CONSTRAINT invoices_numbered CHECK ((num_nulls(series, number, full_number) = ANY (ARRAY[0, 3]))),
  CONSTRAINT invoices_once UNIQUE (company_id, order_id, cause, subject_id),
  CONSTRAINT invoices_pkey PRIMARY KEY (company_id, id),
  CONSTRAINT invoices_positive_number CHECK ((number > 0)),
  CONSTRAINT invoices_reason CHECK (((reason IS NOT NULL) = (cause = ANY (ARRAY['invoice_canceled'::text, 'invoice_corrected'::text])))),
  CONSTRAINT invoices_subject CHECK (((subject_id = order_id) = (cause = ANY (ARRAY['payment_recorded'::text, 'payment_voided'::text]))))
);
CREATE INDEX invoices_customer ON public.invoices USING btree (company_id, customer_id, id) WHERE (number IS NOT NULL);
CREATE UNIQUE INDEX invoices_full_number ON public.invoices USING btree (company_id, full_number) WHERE (number IS NOT NULL);
CREATE UNIQUE INDEX invoices_number ON public.invoices USING btree (company_id, series, number) WHERE (number IS NOT NULL);
CREATE INDEX invoices_without_number ON public.invoices USING btree (company_id, id) WHERE (number IS NULL);

CREATE TABLE key_readers (
  id uuid NOT NULL,
  name text NOT NULL,
  master_id text NOT NULL,
  newest_known integer NOT NULL,
  newest_active integer NOT NULL,
  seen_at timestamp with time zone NOT NULL DEFAULT now(),
  CONSTRAINT key_readers_pkey PRIMARY KEY (id)
);

CREATE TABLE key_rotations (
  id integer NOT NULL,
  started_at timestamp with time zone NOT NULL DEFAULT now(),
  finished_at timestamp with time zone,
  CONSTRAINT key_rotations_pkey PRIMARY KEY (id)
);
CREATE UNIQUE INDEX key_rotations_open ON public.key_rotations USING btree (((finished_at IS NULL))) WHERE (finished_at IS NULL);

CREATE TABLE login_attempts (
  key bytea NOT NULL,
  failures integer NOT NULL,
  expires_at timestamp with time zone NOT NULL,
  CONSTRAINT login_attempts_failures_check CHECK ((failures > 0)),
  CONSTRAINT login_attempts_pkey PRIMARY KEY (key)
);
CREATE INDEX login_attempts_expiry ON public.login_attempts USING btree (expires_at);

CREATE TABLE mails (
  company_id uuid NOT NULL,
  id uuid NOT NULL,
  recipient text NOT NULL,
  subject text NOT NULL,
  body text NOT NULL,
  inserted_at timestamp with time zone NOT NULL DEFAULT now(),
  attempts integer NOT NULL DEFAULT 0,
  next_attempt_at timestamp with time zone DEFAULT now(),
  sent_at timestamp with time zone,
  last_error text,
  sealed_body bytea,
  link_for uuid,
  link_expires_at timestamp with time zone,
  kind text,
  occasion text,
  customer_id uuid,
  object_id uuid,
  invoice_id uuid,
  CONSTRAINT mails_company_id_fkey FOREIGN KEY (company_id) REFERENCES companies(id),
  CONSTRAINT mails_customer_whole CHECK ((num_nulls(kind, occasion, customer_id, object_id) = ANY (ARRAY[0, 4]))),
  CONSTRAINT mails_link_unsent CHECK (((sent_at IS NULL) OR (sealed_body IS NULL))),
  CONSTRAINT mails_link_whole CHECK ((num_nulls(sealed_body, link_for, link_expires_at) = ANY (ARRAY[0, 3]))),
  CONSTRAINT mails_pkey PRIMARY KEY (company_id, id)
);
CREATE INDEX mails_due ON public.mails USING btree (next_attempt_at) WHERE (next_attempt_at IS NOT NULL);
CREATE INDEX mails_due_to_team ON public.mails USING btree (next_attempt_at) WHERE ((next_attempt_at IS NOT NULL) AND (kind IS NULL));
CREATE INDEX mails_inserted_at ON public.mails USING btree (inserted_at);
CREATE INDEX mails_link_expiry ON public.mails USING btree (link_expires_at) WHERE (link_expires_at IS NOT NULL);
CREATE INDEX mails_link_for ON public.mails USING btree (link_for) WHERE (link_for IS NOT NULL);
CREATE UNIQUE INDEX mails_occasion ON public.mails USING btree (company_id, occasion) WHERE (occasion IS NOT NULL);
CREATE INDEX mails_to_customers ON public.mails USING btree (company_id, id) WHERE (kind IS NOT NULL);

CREATE TABLE memberships (
  user_id uuid NOT NULL,
  company_id uuid NOT NULL,
  member_id uuid NOT NULL,
  created_at timestamp with time zone NOT NULL DEFAULT now(),
  CONSTRAINT memberships_pkey PRIMARY KEY (user_id, company_id),
  CONSTRAINT memberships_user_id_fkey FOREIGN KEY (user_id) REFERENCES users(id) ON DELETE CASCADE
);
CREATE INDEX memberships_member ON public.memberships USING btree (company_id, member_id);

CREATE TABLE missing_operations (
  company_id uuid NOT NULL,
  reference uuid NOT NULL,
  kind text NOT NULL,
  charge_reference uuid,
  amount bigint,
  currency text,
  card_last4 text,
  processor_transaction_id text NOT NULL,
  executed_at timestamp with time zone NOT NULL,
  order_id uuid,
  subscription_id uuid,
  subscription_cycle integer,
  found_at timestamp with time zone NOT NULL DEFAULT now(),
  dismissed_at timestamp with time zone,
  connection_id uuid,
  CONSTRAINT missing_operations_kind_check CHECK ((kind = ANY (ARRAY['charge'::text, 'authorization'::text, 'capture'::text, 'refund'::text, 'void'::text]))),
  CONSTRAINT missing_operations_pkey PRIMARY KEY (company_id, reference)
);
CREATE INDEX missing_operations_subscription ON public.missing_operations USING btree (company_id, subscription_id) WHERE (subscription_id IS NOT NULL);

CREATE TABLE notes (
  company_id uuid NOT NULL,
  id uuid NOT NULL,
  customer_id uuid,
  order_id uuid,
  text text NOT NULL,
  author_id uuid NOT NULL,
  author_name text NOT NULL,
  CONSTRAINT notes_check CHECK ((num_nonnulls(customer_id, order_id) = 1)),
  CONSTRAINT notes_company_id_customer_id_fkey FOREIGN KEY (company_id, customer_id) REFERENCES customers(company_id, id) ON DELETE CASCADE,
  CONSTRAINT notes_company_id_fkey FOREIGN KEY (company_id) REFERENCES companies(id),
  CONSTRAINT notes_company_id_order_id_fkey FOREIGN KEY (company_id, order_id) REFERENCES orders(company_id, id),
  CONSTRAINT notes_pkey PRIMARY KEY (company_id, id),
  CONSTRAINT notes_text_check CHECK ((text <> ''::text))
);
CREATE INDEX notes_customer ON public.notes USING btree (company_id, customer_id, id) WHERE (customer_id IS NOT NULL);
CREATE INDEX notes_order ON public.notes USING btree (company_id, order_id, id) WHERE (order_id IS NOT NULL);

CREATE TABLE open_transactions (
  company_id uuid NOT NULL,
  order_id uuid NOT NULL,
  slot uuid NOT NULL,
  id uuid NOT NULL,
  customer_id uuid NOT NULL,
  payment_method_id uuid NOT NULL,
  type text NOT NULL,
  amount bigint NOT NULL,
  currency text NOT NULL,
  card_brand text NOT NULL,
  card_last4 text NOT NULL,
  processor_response json,
  request_id text,
  updated_at timestamp with time zone NOT NULL,
  opened_at timestamp with time zone NOT NULL DEFAULT now(),
  locked_until timestamp with time zone NOT NULL,
  in_doubt boolean NOT NULL DEFAULT false,
  checks integer NOT NULL DEFAULT 0,
  next_check_at timestamp with time zone NOT NULL,
  waiting boolean NOT NULL DEFAULT false,
  reference uuid,
  valid_until timestamp with time zone NOT NULL DEFAULT (now() + '00:10:00'::interval),
  sending integer NOT NULL DEFAULT 1,
  connection_id uuid,
  waits_for text,
  interrupted boolean NOT NULL DEFAULT false,
  interruptions integer NOT NULL DEFAULT 0,
  state text NOT NULL DEFAULT 'sending'::text,
  cause text,
  subject text[],
  number integer,
  adopted boolean NOT NULL DEFAULT false,
  customer_step bytea,
  customer_until timestamp with time zone,
  customer_check_at timestamp with time zone,
  customer_locked_until timestamp with time zone,
  CONSTRAINT open_transactions_accepted_check CHECK (((state = 'accepted'::text) = (slot = id))),
  CONSTRAINT open_transactions_amount_check CHECK ((amount > 0)),
  CONSTRAINT open_transactions_capture_never_waits CHECK (((cause <> 'capture'::text) OR (state <> 'waiting'::text))),
  CONSTRAINT open_transactions_cause_check CHECK (
CASE type
    WHEN 'sale'::text THEN (cause = ANY ('{order,retry,first_charge,renewal,plan_change,capture}'::text[]))
    WHEN 'auth'::text THEN (cause = ANY ('{order,retry}'::text[]))
    ELSE (cause = type)
END),
  CONSTRAINT open_transactions_check CHECK (((slot = id) OR (slot = '00000000-0000-0000-0000-000000000000'::uuid))),
  CONSTRAINT open_transactions_check1 CHECK (((slot <> id) OR (type = 'refund'::text))),
  CONSTRAINT open_transactions_company_id_order_id_fkey FOREIGN KEY (company_id, order_id) REFERENCES orders(company_id, id),
  CONSTRAINT open_transactions_flags_check CHECK (((in_doubt = (state = ANY ('{in_doubt,interrupted}'::text[]))) AND (interrupted = (state = 'interrupted'::text)) AND (waiting = (state = 'waiting'::text)))),
  CONSTRAINT open_transactions_pkey PRIMARY KEY (company_id, order_id, slot),
  CONSTRAINT open_transactions_state_check CHECK ((state = ANY ('{sending,in_doubt,interrupted,waiting,accepted,with_customer}'::text[]))),
  CONSTRAINT open_transactions_type_check CHECK ((type = ANY ('{sale,auth,refund,void}'::text[]))),
  CONSTRAINT open_transactions_waiting CHECK (((NOT waiting) OR ((type = ANY ('{sale,auth}'::text[])) AND (NOT in_doubt)))),
  CONSTRAINT open_transactions_waits_check CHECK (((state = 'waiting'::text) = (waits_for IS NOT NULL))),
  CONSTRAINT open_transactions_waits_for_check CHECK ((waits_for = ANY ('{service,credentials,connection,processor}'::text[]))),
  CONSTRAINT open_transactions_with_customer CHECK (
CASE
    WHEN (state = 'with_customer'::text) THEN ((customer_step IS NOT NULL) AND (customer_check_at IS NOT NULL) AND (customer_until IS NOT NULL) AND (type = ANY ('{sale,auth}'::text[])) AND COALESCE((cause = ANY ('{order,first_charge,plan_change,retry}'::text[])), true))
    ELSE ((customer_step IS NULL) AND (customer_check_at IS NULL) AND (customer_locked_until IS NULL))
END),
  CONSTRAINT open_transactions_without_cause TRIGGER DEFERRABLE INITIALLY DEFERRED
);
CREATE INDEX open_transactions_due ON public.open_transactions USING btree (next_check_at);
CREATE UNIQUE INDEX open_transactions_reference ON public.open_transactions USING btree (company_id, reference) WHERE (reference IS NOT NULL);
CREATE TRIGGER open_transactions_first_state BEFORE INSERT ON public.open_transactions FOR EACH ROW WHEN (((new.state <> 'sending'::text) OR new.in_doubt OR new.waiting OR (new.slot = new.id))) EXECUTE FUNCTION agree_on_operation_state();
CREATE TRIGGER open_transactions_state BEFORE UPDATE ON public.open_transactions FOR EACH ROW EXECUTE FUNCTION agree_on_operation_state();
CREATE CONSTRAINT TRIGGER open_transactions_without_cause AFTER INSERT ON public.open_transactions DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN ((new.cause IS NULL)) EXECUTE FUNCTION describe_new_operation();

CREATE TABLE order_index_cursors (
  company_id uuid NOT NULL,
  after_id uuid NOT NULL,
  until_id uuid NOT NULL,
  until_at timestamp with time zone NOT NULL DEFAULT now(),
  CONSTRAINT order_index_cursors_company_id_fkey FOREIGN KEY (company_id) REFERENCES companies(id) ON DELETE CASCADE,
  CONSTRAINT order_index_cursors_pkey PRIMARY KEY (company_id)
);
CREATE INDEX order_index_cursors_due ON public.order_index_cursors USING btree (until_at);

CREATE TABLE orders (
  company_id uuid NOT NULL,
  id uuid NOT NULL,
  order_number text NOT NULL,
  customer_id uuid NOT NULL,
  payment_method_id uuid NOT NULL,
  card_brand text NOT NULL,
  card_last4 text NOT NULL,
  status text NOT NULL,
  items json NOT NULL,
  currency text NOT NULL,
  subtotal bigint NOT NULL,
  discount_amount bigint NOT NULL,
  total bigint NOT NULL,
  refunded_amount bigint NOT NULL,
  coupon json,
  description text,
  shipping json,
  metadata json NOT NULL,
  subscription_id uuid,
  subscription_cycle integer,
  attempt_count integer NOT NULL,
  next_retry_at timestamp with time zone,
  failure_code text,
  failure_reason text,
  request_id text,
  sale_id uuid,
  sequence integer NOT NULL,
  answer_event_id uuid,
  updated_at timestamp with time zone NOT NULL,
  rare_status text DEFAULT 
CASE
    WHEN (status = ANY (ARRAY['pending'::text, 'succeeded'::text])) THEN NULL::text
    ELSE status
END,
  customer_tries smallint NOT NULL DEFAULT 0,
  authorized_amount bigint,
  captured_amount bigint,
  capture_before timestamp with time zone,
  subscription_change integer,
  off_session boolean,
  authentication_url text,
  authentication_until timestamp with time zone,
  credit_applied bigint,
  credit_refunded bigint,
  CONSTRAINT orders_authentication_ends CHECK (((authentication_url IS NULL) = (authentication_until IS NULL))),
  CONSTRAINT orders_authorized_at_most_total CHECK (((authorized_amount IS NULL) OR ((authorized_amount > 0) AND (authorized_amount <= total)))),
  CONSTRAINT orders_captured_at_most_authorized CHECK (((captured_amount IS NULL) OR ((captured_amount > 0) AND (captured_amount <= authorized_amount) AND (sale_id IS NOT NULL)))),
  CONSTRAINT orders_check CHECK ((total = (subtotal - discount_amount))),
  CONSTRAINT orders_check1 CHECK (((status <> 'failed'::text) OR (failure_code IS NOT NULL))),
  CONSTRAINT orders_check2 CHECK (((subscription_cycle IS NULL) OR (subscription_id IS NOT NULL))),
  CONSTRAINT orders_company_id_customer_id_fkey FOREIGN KEY (company_id, customer_id) REFERENCES customers(company_id, id),
  CONSTRAINT orders_company_id_payment_method_id_fkey FOREIGN KEY (company_id, payment_method_id) REFERENCES payment_methods(company_id, id),
  CONSTRAINT orders_company_id_subscription_id_fkey FOREIGN KEY (company_id, subscription_id) REFERENCES subscriptions(company_id, id),
  CONSTRAINT orders_credit_applied CHECK (((credit_applied IS NULL) OR ((credit_applied > 0) AND (credit_applied <= total)))),
  CONSTRAINT orders_credit_refunded CHECK (((credit_refunded IS NULL) OR ((credit_refunded > 0) AND (credit_refunded <= COALESCE(credit_applied, (0)::bigint)) AND (credit_refunded <= refunded_amount)))),
  CONSTRAINT orders_discount_amount_check CHECK ((discount_amount >= 0)),
  CONSTRAINT orders_held_while_pending CHECK (((capture_before IS NULL) OR ((status = 'pending'::text) AND (authorized_amount IS NOT NULL)))),
  CONSTRAINT orders_number UNIQUE (company_id, order_number),
  CONSTRAINT orders_of_change CHECK (((subscription_change IS NULL) OR ((subscription_change > 0) AND (subscription_id IS NOT NULL) AND (subscription_cycle IS NULL)))),
  CONSTRAINT orders_pkey PRIMARY KEY (company_id, id),
  CONSTRAINT orders_refunded_amount_check CHECK ((refunded_amount >= 0)),
  CONSTRAINT orders_refunded_at_most_captured CHECK (((captured_amount IS NULL) OR (refunded_amount <= captured_amount))),
  CONSTRAINT orders_refunded_at_most_total CHECK ((refunded_amount <= total)),
  CONSTRAINT orders_sale CHECK (
CASE
    WHEN (status = ANY ('{pending,failed}'::text[])) THEN (sale_id IS NULL)
    ELSE ((sale_id IS NOT NULL) OR (total = COALESCE(credit_applied, (0)::bigint)) OR ((status = 'voided'::text) AND (authorized_amount IS NOT NULL) AND (captured_amount IS NULL)))
END),
  CONSTRAINT orders_status_check CHECK ((status = ANY ('{pending,succeeded,failed,voided,partially_refunded,refunded,refund_failed,chargeback,chargeback_accepted,chargeback_dismissed}'::text[]))),
  CONSTRAINT orders_subtotal_check CHECK ((subtotal >= 0)),
  CONSTRAINT orders_total_check CHECK (((total >= 0) AND (total <= '1000000000000'::bigint)))
);
CREATE UNIQUE INDEX orders_change ON public.orders USING btree (company_id, subscription_id, subscription_change) WHERE (subscription_change IS NOT NULL);
CREATE INDEX orders_customer ON public.orders USING btree (company_id, customer_id, id);
CREATE UNIQUE INDEX orders_cycle ON public.orders USING btree (company_id, subscription_id, subscription_cycle) WHERE ((subscription_id IS NOT NULL) AND (subscription_cycle IS NOT NULL));
CREATE UNIQUE INDEX orders_first_charge ON public.orders USING btree (company_id, subscription_id) WHERE ((subscription_id IS NOT NULL) AND ((subscription_cycle IS NULL) OR (subscription_cycle = 1)) AND (subscription_change IS NULL));
CREATE INDEX orders_held ON public.orders USING btree (company_id, capture_before) WHERE (capture_before IS NOT NULL);
CREATE INDEX orders_held_by_id ON public.orders USING btree (company_id, id) WHERE (capture_before IS NOT NULL);
CREATE INDEX orders_rare_status ON public.orders USING btree (company_id, rare_status, id) WHERE (rare_status IS NOT NULL);
CREATE INDEX orders_subscription ON public.orders USING btree (company_id, subscription_id, id) WHERE (subscription_id IS NOT NULL);
CREATE INDEX orders_total ON public.orders USING btree (company_id, total, id);
CREATE TRIGGER orders_credited AFTER UPDATE OF status ON public.orders FOR EACH ROW WHEN (((new.status = 'voided'::text) AND (old.status <> ALL ('{pending,failed,voided}'::text[])))) EXECUTE FUNCTION credit_void();
CREATE TRIGGER orders_invoiced AFTER UPDATE OF status ON public.orders FOR EACH ROW WHEN (((old.status = ANY ('{pending,failed}'::text[])) AND (new.status <> ALL ('{pending,failed,voided}'::text[])))) EXECUTE FUNCTION invoice_payment();
CREATE TRIGGER orders_invoiced_at_once AFTER INSERT ON public.orders FOR EACH ROW WHEN ((new.status <> ALL ('{pending,failed,voided}'::text[]))) EXECUTE FUNCTION invoice_payment();

CREATE TABLE orders_by_object (
  company_id uuid NOT NULL,
  object_id uuid NOT NULL,
  order_id uuid NOT NULL,
  CONSTRAINT orders_by_object_pkey PRIMARY KEY (company_id, object_id, order_id)
);

CREATE TABLE password_resets (
  hash bytea NOT NULL,
  user_id uuid NOT NULL,
  expires_at timestamp with time zone NOT NULL,
  CONSTRAINT password_resets_pkey PRIMARY KEY (hash),
  CONSTRAINT password_resets_user_id_fkey FOREIGN KEY (user_id) REFERENCES users(id) ON DELETE CASCADE
);
CREATE INDEX password_resets_expiry ON public.password_resets USING btree (expires_at);
CREATE INDEX password_resets_user ON public.password_resets USING btree (user_id, expires_at);

CREATE TABLE payment_links (
  company_id uuid NOT NULL,
  id uuid NOT NULL,
  token_hash bytea NOT NULL,
  sealed_token bytea NOT NULL,
  name text NOT NULL,
  mode text NOT NULL,
  items jsonb NOT NULL,
  plan_id uuid,
  success_url text,
  coupon_code text,
  allow_coupons boolean NOT NULL,
  collect text[] NOT NULL,
  metadata jsonb NOT NULL,
  active boolean NOT NULL DEFAULT true,
  max_payments integer,
  ends_at timestamp with time zone,
  payments integer NOT NULL DEFAULT 0,
  updated_at timestamp with time zone NOT NULL,
  slug text,
  capture text NOT NULL DEFAULT 'automatic'::text,
  locale text,
  CONSTRAINT payment_links_capture_check CHECK (((capture = ANY (ARRAY['automatic'::text, 'manual'::text])) AND ((capture = 'automatic'::text) OR (mode = 'payment'::text)))),
  CONSTRAINT payment_links_check CHECK (((mode = 'subscription'::text) = (plan_id IS NOT NULL))),
  CONSTRAINT payment_links_company_id_fkey FOREIGN KEY (company_id) REFERENCES companies(id),
  CONSTRAINT payment_links_company_id_token_hash_key UNIQUE (company_id, token_hash),
  CONSTRAINT payment_links_locale_check CHECK ((locale ~ '^[a-z]{2}(-([A-Z]{2}|[0-9]{3}))?$'::text)),
  CONSTRAINT payment_links_mode_check CHECK ((mode = ANY (ARRAY['payment'::text, 'subscription'::text]))),
  CONSTRAINT payment_links_pkey PRIMARY KEY (company_id, id)
);
CREATE UNIQUE INDEX payment_links_slug ON public.payment_links USING btree (company_id, slug) WHERE (slug IS NOT NULL);

CREATE TABLE payment_methods (
  company_id uuid NOT NULL,
  id uuid NOT NULL,
  customer_id uuid NOT NULL,
  card_id uuid NOT NULL,
  brand text NOT NULL,
  last4 text NOT NULL,
  exp_month smallint NOT NULL,
  exp_year smallint NOT NULL,
  fingerprint text NOT NULL,
  billing_details jsonb,
  deleted_at timestamp with time zone,
  listed boolean NOT NULL DEFAULT true,
  verification jsonb,
  mandated_at timestamp with time zone,
  CONSTRAINT payment_methods_company_id_customer_id_fkey FOREIGN KEY (company_id, customer_id) REFERENCES customers(company_id, id),
  CONSTRAINT payment_methods_exp_month_check CHECK (((exp_month >= 1) AND (exp_month <= 12))),
  CONSTRAINT payment_methods_last4_check CHECK ((last4 ~ '^[0-9]{4}$'::text)),
  CONSTRAINT payment_methods_pkey PRIMARY KEY (company_id, id)
);
CREATE INDEX payment_methods_customer ON public.payment_methods USING btree (company_id, customer_id, id) WHERE (deleted_at IS NULL);
CREATE INDEX payment_methods_expiry ON public.payment_methods USING btree (company_id, exp_year, exp_month) WHERE (deleted_at IS NULL);
CREATE INDEX payment_methods_last4 ON public.payment_methods USING btree (company_id, last4, customer_id);

CREATE TABLE plan_group_plans (
  company_id uuid NOT NULL,
  plan_id uuid NOT NULL,
  group_id uuid NOT NULL,
  "position" integer NOT NULL,
  CONSTRAINT plan_group_plans_company_id_group_id_fkey FOREIGN KEY (company_id, group_id) REFERENCES plan_groups(company_id, id) ON DELETE CASCADE,
  CONSTRAINT plan_group_plans_company_id_plan_id_fkey FOREIGN KEY (company_id, plan_id) REFERENCES plans(company_id, id) ON DELETE CASCADE,
  CONSTRAINT plan_group_plans_pkey PRIMARY KEY (company_id, plan_id)
);
CREATE INDEX plan_group_plans_of_group ON public.plan_group_plans USING btree (company_id, group_id, "position");

CREATE TABLE plan_groups (
  company_id uuid NOT NULL,
  id uuid NOT NULL,
  name text NOT NULL,
  upgrade text NOT NULL,
  downgrade text NOT NULL,
  proration text NOT NULL,
  after_cycles integer NOT NULL,
  seats_max integer,
  updated_at timestamp with time zone NOT NULL,
  CONSTRAINT plan_groups_after_cycles CHECK ((after_cycles >= 0)),
  CONSTRAINT plan_groups_company_id_fkey FOREIGN KEY (company_id) REFERENCES companies(id),
  CONSTRAINT plan_groups_downgrade CHECK ((downgrade = ANY (ARRAY['now'::text, 'renewal'::text, 'off'::text]))),
  CONSTRAINT plan_groups_pkey PRIMARY KEY (company_id, id),
  CONSTRAINT plan_groups_proration CHECK ((proration = ANY (ARRAY['difference'::text, 'restart'::text, 'none'::text]))),
  CONSTRAINT plan_groups_seats_max CHECK ((seats_max > 0)),
  CONSTRAINT plan_groups_upgrade CHECK ((upgrade = ANY (ARRAY['now'::text, 'renewal'::text, 'off'::text])))
);

CREATE TABLE plan_products (
  company_id uuid NOT NULL,
  plan_id uuid NOT NULL,
  "position" smallint NOT NULL,
  product_id uuid NOT NULL,
  quantity integer NOT NULL,
  CONSTRAINT plan_products_company_id_plan_id_fkey FOREIGN KEY (company_id, plan_id) REFERENCES plans(company_id, id),
  CONSTRAINT plan_products_company_id_product_id_fkey FOREIGN KEY (company_id, product_id) REFERENCES products(company_id, id),
  CONSTRAINT plan_products_pkey PRIMARY KEY (company_id, plan_id, "position"),
  CONSTRAINT plan_products_quantity_check CHECK (((quantity >= 1) AND (quantity <= 9999)))
);
CREATE INDEX plan_products_product ON public.plan_products USING btree (company_id, product_id);

CREATE TABLE plans (
  company_id uuid NOT NULL,
  id uuid NOT NULL,
  name text NOT NULL,
  plan_code text NOT NULL,
  description text,
  amount bigint NOT NULL,
  one_time_amount bigint NOT NULL,
  currency text NOT NULL,
  "interval" text NOT NULL,
  interval_count integer NOT NULL,
  anchor_day smallint,
  billing_cycles integer NOT NULL,
  pricing_tiers json NOT NULL,
  active boolean NOT NULL,
  updated_at timestamp with time zone NOT NULL,
  CONSTRAINT plans_amount_check CHECK ((amount >= 0)),
  CONSTRAINT plans_anchor_day_check CHECK (((anchor_day >= 1) AND (anchor_day <= 31))),
  CONSTRAINT plans_billing_cycles_check CHECK ((billing_cycles >= 0)),
  CONSTRAINT plans_check CHECK (((interval_count >= 1) AND (interval_count <=
CASE "interval"
    WHEN 'day'::text THEN 365
    ELSE 60
END))),
  CONSTRAINT plans_code UNIQUE (company_id, plan_code),
  CONSTRAINT plans_company_id_fkey FOREIGN KEY (company_id) REFERENCES companies(id),
  CONSTRAINT plans_interval_check CHECK (("interval" = ANY (ARRAY['day'::text, 'month'::text]))),
  CONSTRAINT plans_one_time_amount_check CHECK ((one_time_amount >= 0)),
  CONSTRAINT plans_pkey PRIMARY KEY (company_id, id)
);
CREATE INDEX plans_amount ON public.plans USING btree (company_id, amount, id);
CREATE INDEX plans_name ON public.plans USING btree (company_id, name, id);
CREATE INDEX plans_updated_at ON public.plans USING btree (company_id, updated_at, id);

CREATE TABLE price_change_subscriptions (
  company_id uuid NOT NULL,
  change_id uuid NOT NULL,
  subscription_id uuid NOT NULL,
  state text NOT NULL DEFAULT 'waiting'::text,
  check_at timestamp with time zone DEFAULT now(),
  scheduled_id uuid,
  reason text,
  CONSTRAINT price_change_subscriptions_company_id_change_id_fkey FOREIGN KEY (company_id, change_id) REFERENCES price_changes(company_id, id) ON DELETE CASCADE,
  CONSTRAINT price_change_subscriptions_company_id_subscription_id_fkey FOREIGN KEY (company_id, subscription_id) REFERENCES subscriptions(company_id, id) ON DELETE CASCADE,
  CONSTRAINT price_change_subscriptions_pkey PRIMARY KEY (company_id, change_id, subscription_id),
  CONSTRAINT price_change_subscriptions_refused CHECK (((state = 'refused'::text) = (reason IS NOT NULL))),
  CONSTRAINT price_change_subscriptions_scheduled CHECK (((state = 'scheduled'::text) = (scheduled_id IS NOT NULL))),
  CONSTRAINT price_change_subscriptions_state CHECK ((state = ANY (ARRAY['waiting'::text, 'scheduled'::text, 'refused'::text, 'undone'::text]))),
  CONSTRAINT price_change_subscriptions_waiting CHECK (((state = 'waiting'::text) = (check_at IS NOT NULL)))
);
CREATE INDEX price_change_subscriptions_by_state ON public.price_change_subscriptions USING btree (company_id, change_id, state, subscription_id);
CREATE INDEX price_change_subscriptions_due ON public.price_change_subscriptions USING btree (company_id, change_id, check_at) WHERE (state = 'waiting'::text);
CREATE INDEX price_change_subscriptions_of ON public.price_change_subscriptions USING btree (company_id, subscription_id);

CREATE TABLE price_changes (
  company_id uuid NOT NULL,
  id uuid NOT NULL,
  member_id uuid,
  request_id text NOT NULL,
  plan_id uuid NOT NULL,
  to_plan_id uuid NOT NULL,
  chosen uuid[],
  state text NOT NULL DEFAULT 'running'::text,
  after_id uuid,
  collected boolean NOT NULL DEFAULT false,
  next_step_at timestamp with time zone DEFAULT now(),
  CONSTRAINT price_changes_company_id_fkey FOREIGN KEY (company_id) REFERENCES companies(id),
  CONSTRAINT price_changes_company_id_plan_id_fkey FOREIGN KEY (company_id, plan_id) REFERENCES plans(company_id, id),
  CONSTRAINT price_changes_company_id_to_plan_id_fkey FOREIGN KEY (company_id, to_plan_id) REFERENCES plans(company_id, id),
  CONSTRAINT price_changes_other_plan CHECK ((plan_id <> to_plan_id)),
  CONSTRAINT price_changes_pkey PRIMARY KEY (company_id, id),
  CONSTRAINT price_changes_state CHECK ((state = ANY (ARRAY['running'::text, 'paused'::text, 'undone'::text])))
);
CREATE INDEX price_changes_due ON public.price_changes USING btree (next_step_at) WHERE (next_step_at IS NOT NULL);
CREATE INDEX price_changes_of_plan ON public.price_changes USING btree (company_id, plan_id, id);

CREATE TABLE processor_connections (
  company_id uuid NOT NULL,
  id uuid NOT NULL,
  kind text NOT NULL,
  name text NOT NULL,
  "position" integer NOT NULL,
  rules jsonb NOT NULL DEFAULT '{}'::jsonb,
  request_life_ms integer NOT NULL,
  verifies_cards boolean NOT NULL DEFAULT false,
  created_at timestamp with time zone NOT NULL DEFAULT now(),
  disconnected_at timestamp with time zone,
  removed_at timestamp with time zone,
  notice_seen_at timestamp with time zone,
  polled_at timestamp with time zone,
  poll_cursor text,
  account_id text,
  refused_at timestamp with time zone,
  notice_refused_at timestamp with time zone,
  notice_refusal text,
  code_wanted_at timestamp with time zone,
  unlinked_at timestamp with time zone,
  rejected_at timestamp with time zone,
  rejection text,
  rejected_operation text,
  CONSTRAINT processor_connections_check CHECK (((removed_at IS NULL) OR (disconnected_at IS NOT NULL))),
  CONSTRAINT processor_connections_company_id_fkey FOREIGN KEY (company_id) REFERENCES companies(id),
  CONSTRAINT processor_connections_kind_check CHECK ((kind = ANY (ARRAY['acquirer'::text, 'stripe'::text, 'nmi'::text, 'adyen'::text]))),
  CONSTRAINT processor_connections_pkey PRIMARY KEY (company_id, id),
  CONSTRAINT processor_connections_rejected_operation_check CHECK ((rejected_operation = ANY (ARRAY['charge'::text, 'capture'::text, 'refund'::text, 'void'::text, 'verification'::text]))),
  CONSTRAINT processor_connections_rejection CHECK (((rejection IS NULL) = (rejected_operation IS NULL))),
  CONSTRAINT processor_connections_request_life_ms_check CHECK ((request_life_ms > 0))
);
CREATE UNIQUE INDEX processor_connections_account ON public.processor_connections USING btree (company_id, kind, account_id) WHERE ((removed_at IS NULL) AND (kind <> 'nmi'::text));
CREATE INDEX processor_connections_id ON public.processor_connections USING btree (id);
CREATE UNIQUE INDEX processor_connections_position ON public.processor_connections USING btree (company_id, "position") WHERE (disconnected_at IS NULL);
CREATE INDEX processor_connections_refused ON public.processor_connections USING btree (refused_at) WHERE (refused_at IS NOT NULL);
CREATE INDEX processor_connections_rejected ON public.processor_connections USING btree (rejected_at) WHERE (rejected_at IS NOT NULL);

CREATE TABLE processor_notices (
  company_id uuid NOT NULL,
  connection_id uuid NOT NULL,
  id text NOT NULL,
  type text NOT NULL,
  about json NOT NULL,
  happened_at timestamp with time zone NOT NULL,
  received_at timestamp with time zone NOT NULL DEFAULT now(),
  applied_at timestamp with time zone,
  next_try_at timestamp with time zone NOT NULL DEFAULT now(),
  tries integer NOT NULL DEFAULT 0,
  result text,
  CONSTRAINT processor_notices_company_id_connection_id_fkey FOREIGN KEY (company_id, connection_id) REFERENCES processor_connections(company_id, id),
  CONSTRAINT processor_notices_pkey PRIMARY KEY (company_id, connection_id, id)
);
CREATE INDEX processor_notices_applied ON public.processor_notices USING btree (applied_at) WHERE (applied_at IS NOT NULL);
CREATE INDEX processor_notices_due ON public.processor_notices USING btree (next_try_at) WHERE (applied_at IS NULL);

CREATE TABLE product_images (
  company_id uuid NOT NULL,
  id uuid NOT NULL,
  product_id uuid NOT NULL,
  "position" smallint NOT NULL,
  file_key text NOT NULL,
  content_type text NOT NULL,
  size_bytes integer NOT NULL,
  CONSTRAINT product_images_company_id_product_id_fkey FOREIGN KEY (company_id, product_id) REFERENCES products(company_id, id),
  CONSTRAINT product_images_pkey PRIMARY KEY (company_id, id),
  CONSTRAINT product_images_position UNIQUE (company_id, product_id, "position") DEFERRABLE INITIALLY DEFERRED,
  CONSTRAINT product_images_position_check CHECK ((("position" >= 0) AND ("position" <= 9)))
);

CREATE TABLE products (
  company_id uuid NOT NULL,
  id uuid NOT NULL,
  name text NOT NULL,
  description text,
  amount bigint NOT NULL,
  currency text NOT NULL,
  requires_shipping boolean NOT NULL,
  sku text NOT NULL,
  availability text NOT NULL,
  category text,
  brand text,
  material text,
  weight text,
  return_window integer,
  inventory_quantity integer,
  metadata jsonb NOT NULL,
  active boolean NOT NULL,
  updated_at timestamp with time zone NOT NULL,
  deleted_at timestamp with time zone,
  ordered boolean NOT NULL DEFAULT false,
  CONSTRAINT products_amount_check CHECK ((amount >= 0)),
  CONSTRAINT products_availability_check CHECK ((availability = ANY (ARRAY['in_stock'::text, 'out_of_stock'::text, 'preorder'::text]))),
  CONSTRAINT products_check CHECK (((deleted_at IS NULL) OR (NOT active))),
  CONSTRAINT products_company_id_fkey FOREIGN KEY (company_id) REFERENCES companies(id),
  CONSTRAINT products_pkey PRIMARY KEY (company_id, id),
  CONSTRAINT products_return_window_check CHECK (((return_window >= 0) AND (return_window <= 365)))
);
CREATE INDEX products_active ON public.products USING btree (company_id, active, id) WHERE (deleted_at IS NULL);
CREATE INDEX products_amount ON public.products USING btree (company_id, amount, id) WHERE (deleted_at IS NULL);
CREATE INDEX products_name ON public.products USING btree (company_id, name, id) WHERE (deleted_at IS NULL);
CREATE UNIQUE INDEX products_sku ON public.products USING btree (company_id, sku, (
CASE
    WHEN (deleted_at IS NULL) THEN company_id
    ELSE id
END));
CREATE INDEX products_updated_at ON public.products USING btree (company_id, updated_at, id) WHERE (deleted_at IS NULL);

CREATE TABLE rate_limits (
  key text NOT NULL,
  tat_ms double precision NOT NULL,
  CONSTRAINT rate_limits_pkey PRIMARY KEY (key)
);

CREATE TABLE receipts (
  company_id uuid NOT NULL,
  id uuid NOT NULL,
  order_id uuid NOT NULL,
  refund_id uuid,
  number integer NOT NULL,
  created_at timestamp with time zone NOT NULL,
  CONSTRAINT receipts_company_id_order_id_fkey FOREIGN KEY (company_id, order_id) REFERENCES orders(company_id, id),
  CONSTRAINT receipts_number UNIQUE (company_id, number),
  CONSTRAINT receipts_number_check CHECK ((number > 0)),
  CONSTRAINT receipts_pkey PRIMARY KEY (company_id, id)
);
CREATE UNIQUE INDEX receipts_subject ON public.receipts USING btree (company_id, order_id, COALESCE(refund_id, order_id));

CREATE TABLE rehearsals (
  company_id uuid NOT NULL,
  id uuid NOT NULL,
  connection_id uuid NOT NULL,
  currency text NOT NULL,
  state text NOT NULL DEFAULT 'running'::text,
  started_at timestamp with time zone NOT NULL DEFAULT now(),
  ended_at timestamp with time zone,
  steps jsonb NOT NULL DEFAULT '[]'::jsonb,
  made jsonb NOT NULL DEFAULT '{}'::jsonb,
  step_since timestamp with time zone NOT NULL DEFAULT now(),
  leased_until timestamp with time zone NOT NULL DEFAULT now(),
  CONSTRAINT rehearsals_check CHECK (((state = 'running'::text) = (ended_at IS NULL))),
  CONSTRAINT rehearsals_company_id_connection_id_fkey FOREIGN KEY (company_id, connection_id) REFERENCES processor_connections(company_id, id),
  CONSTRAINT rehearsals_pkey PRIMARY KEY (company_id, id),
  CONSTRAINT rehearsals_state_check CHECK ((state = ANY (ARRAY['running'::text, 'passed'::text, 'failed'::text])))
);
CREATE INDEX rehearsals_due ON public.rehearsals USING btree (leased_until) WHERE (state = 'running'::text);
CREATE INDEX rehearsals_of_connection ON public.rehearsals USING btree (company_id, connection_id, id);
CREATE UNIQUE INDEX rehearsals_running ON public.rehearsals USING btree (company_id, connection_id) WHERE (state = 'running'::text);

CREATE TABLE requests (
  company_id uuid NOT NULL,
  id uuid NOT NULL,
  request_id text NOT NULL,
  method text NOT NULL,
  path text NOT NULL,
  query text,
  status smallint NOT NULL,
  duration_ms integer NOT NULL,
  actor_kind text NOT NULL,
  actor_id uuid NOT NULL,
  actor_name text NOT NULL,
  address text NOT NULL,
  api_version text,
  idempotency_key text,
  request_body text,
  response_body text,
  inserted_at timestamp with time zone NOT NULL DEFAULT now(),
  CONSTRAINT requests_actor_kind_check CHECK ((actor_kind = ANY (ARRAY['key'::text, 'member'::text]))),
  CONSTRAINT requests_pkey PRIMARY KEY (company_id, id, inserted_at)
);
CREATE INDEX requests_request ON ONLY public.requests USING btree (company_id, request_id);

CREATE TABLE requests_default (
  company_id uuid NOT NULL,
  id uuid NOT NULL,
  request_id text NOT NULL,
  method text NOT NULL,
  path text NOT NULL,
  query text,
  status smallint NOT NULL,
  duration_ms integer NOT NULL,
  actor_kind text NOT NULL,
  actor_id uuid NOT NULL,
  actor_name text NOT NULL,
  address text NOT NULL,
  api_version text,
  idempotency_key text,
  request_body text,
  response_body text,
  inserted_at timestamp with time zone NOT NULL DEFAULT now(),
  CONSTRAINT requests_actor_kind_check CHECK ((actor_kind = ANY (ARRAY['key'::text, 'member'::text]))),
  CONSTRAINT requests_default_pkey PRIMARY KEY (company_id, id, inserted_at)
);
CREATE INDEX requests_default_company_id_request_id_idx ON public.requests_default USING btree (company_id, request_id);

CREATE TABLE restores (
  id uuid NOT NULL,
  noticed_at timestamp with time zone NOT NULL DEFAULT now(),
  noticed_by text NOT NULL,
  detail text NOT NULL,
  books_until timestamp with time zone,
  reconciled_at timestamp with time zone,
  reconciled_until timestamp with time zone,
  CONSTRAINT restores_check CHECK (((reconciled_at IS NULL) = (reconciled_until IS NULL))),
  CONSTRAINT restores_noticed_by_check CHECK ((noticed_by = ANY (ARRAY['operator'::text, 'high_water_mark'::text, 'earlier_result'::text]))),
  CONSTRAINT restores_pkey PRIMARY KEY (id)
);
CREATE UNIQUE INDEX restores_open ON public.restores USING btree (((reconciled_at IS NULL))) WHERE (reconciled_at IS NULL);

CREATE TABLE roles (
  company_id uuid NOT NULL,
  id uuid NOT NULL,
  name text NOT NULL,
  description text NOT NULL,
  default_page text NOT NULL,
  permissions text[] NOT NULL,
  custom boolean NOT NULL DEFAULT false,
  CONSTRAINT roles_company_id_fkey FOREIGN KEY (company_id) REFERENCES companies(id),
  CONSTRAINT roles_name UNIQUE (company_id, name),
  CONSTRAINT roles_pkey PRIMARY KEY (company_id, id)
);

CREATE TABLE sample_data (
  company_id uuid NOT NULL,
  state text NOT NULL,
  number integer NOT NULL DEFAULT 1,
  ends_at timestamp with time zone NOT NULL,
  done integer NOT NULL DEFAULT 0,
  total integer NOT NULL DEFAULT 0,
  leased_until timestamp with time zone NOT NULL DEFAULT now(),
  CONSTRAINT sample_data_company_id_fkey FOREIGN KEY (company_id) REFERENCES companies(id) ON DELETE CASCADE,
  CONSTRAINT sample_data_done CHECK (((done >= 0) AND (done <= total))),
  CONSTRAINT sample_data_pkey PRIMARY KEY (company_id),
  CONSTRAINT sample_data_state CHECK ((state = ANY (ARRAY['filling'::text, 'filled'::text, 'clearing'::text, 'cleared'::text])))
);
CREATE INDEX sample_data_open ON public.sample_data USING btree (leased_until) WHERE (state = ANY (ARRAY['filling'::text, 'clearing'::text]));

CREATE TABLE saved_views (
  company_id uuid NOT NULL,
  member_id uuid NOT NULL,
  id uuid NOT NULL,
  list text NOT NULL,
  name text NOT NULL,
  search jsonb NOT NULL,
  CONSTRAINT saved_views_company_id_member_id_fkey FOREIGN KEY (company_id, member_id) REFERENCES team_members(company_id, id) ON DELETE CASCADE,
  CONSTRAINT saved_views_name UNIQUE (company_id, member_id, list, name),
  CONSTRAINT saved_views_name_check CHECK ((name <> ''::text)),
  CONSTRAINT saved_views_pkey PRIMARY KEY (company_id, id)
);

CREATE TABLE scheduled_chargebacks (
  company_id uuid NOT NULL,
  order_id uuid NOT NULL,
  due_at timestamp with time zone NOT NULL,
  CONSTRAINT scheduled_chargebacks_company_id_order_id_fkey FOREIGN KEY (company_id, order_id) REFERENCES orders(company_id, id),
  CONSTRAINT scheduled_chargebacks_pkey PRIMARY KEY (company_id, order_id)
);

CREATE TABLE secret_checks (
  name text NOT NULL,
  digest bytea NOT NULL,
  CONSTRAINT secret_checks_pkey PRIMARY KEY (name)
);

CREATE TABLE service_key_copies (
  key_id integer NOT NULL,
  master_id text NOT NULL,
  sealed bytea NOT NULL,
  CONSTRAINT service_key_copies_key_id_fkey FOREIGN KEY (key_id) REFERENCES service_keys(id) ON DELETE CASCADE,
  CONSTRAINT service_key_copies_pkey PRIMARY KEY (key_id, master_id)
);

CREATE TABLE service_keys (
  id integer NOT NULL,
  purpose text NOT NULL,
  original boolean NOT NULL,
  created_at timestamp with time zone NOT NULL DEFAULT now(),
  activated_at timestamp with time zone,
  retired_at timestamp with time zone,
  CONSTRAINT service_keys_check CHECK (((retired_at IS NULL) OR (activated_at IS NOT NULL))),
  CONSTRAINT service_keys_pkey PRIMARY KEY (id)
);
CREATE UNIQUE INDEX service_keys_current ON public.service_keys USING btree (purpose) WHERE ((activated_at IS NOT NULL) AND (retired_at IS NULL));
CREATE UNIQUE INDEX service_keys_pending ON public.service_keys USING btree (purpose) WHERE (activated_at IS NULL);

CREATE TABLE sessions (
  id uuid NOT NULL,
  token_hash bytea NOT NULL,
  user_id uuid NOT NULL,
  address text NOT NULL,
  user_agent text NOT NULL,
  last_seen_at timestamp with time zone NOT NULL,
  expires_at timestamp with time zone NOT NULL,
  stepped_up_at timestamp with time zone NOT NULL,
  CONSTRAINT sessions_pkey PRIMARY KEY (id),
  CONSTRAINT sessions_token UNIQUE (token_hash),
  CONSTRAINT sessions_user_id_fkey FOREIGN KEY (user_id) REFERENCES users(id) ON DELETE CASCADE
);
CREATE INDEX sessions_expiry ON public.sessions USING btree (expires_at);
CREATE INDEX sessions_user ON public.sessions USING btree (user_id, id);
CREATE TRIGGER sessions_token_replaced AFTER UPDATE OF token_hash ON public.sessions FOR EACH ROW WHEN ((old.token_hash <> new.token_hash)) EXECUTE FUNCTION end_keys_of_session();

CREATE TABLE shard_leases (
  shard text NOT NULL,
  place smallint NOT NULL,
  worker_id uuid NOT NULL,
  CONSTRAINT shard_leases_pkey PRIMARY KEY (shard, place),
  CONSTRAINT shard_leases_place_check CHECK (((place >= 1) AND (place <= 2))),
  CONSTRAINT shard_leases_worker_id_fkey FOREIGN KEY (worker_id) REFERENCES shard_workers(id) ON DELETE CASCADE
);
CREATE UNIQUE INDEX shard_leases_worker ON public.shard_leases USING btree (worker_id, shard);

CREATE TABLE shard_uses (
  shard text NOT NULL,
  used_until timestamp with time zone NOT NULL,
  CONSTRAINT shard_uses_pkey PRIMARY KEY (shard)
);

CREATE TABLE shard_workers (
  id uuid NOT NULL,
  seen_at timestamp with time zone NOT NULL,
  CONSTRAINT shard_workers_pkey PRIMARY KEY (id)
);

CREATE TABLE subscription_changes (
  company_id uuid NOT NULL,
  subscription_id uuid NOT NULL,
  number integer NOT NULL,
  id uuid NOT NULL,
  order_id uuid,
  at timestamp with time zone NOT NULL,
  recorded_at timestamp with time zone NOT NULL,
  restarts boolean NOT NULL,
  before json NOT NULL,
  after json NOT NULL,
  lines json NOT NULL,
  CONSTRAINT subscription_changes_company_id_subscription_id_fkey FOREIGN KEY (company_id, subscription_id) REFERENCES subscriptions(company_id, id) ON DELETE CASCADE,
  CONSTRAINT subscription_changes_number_check CHECK ((number > 0)),
  CONSTRAINT subscription_changes_once UNIQUE (company_id, id),
  CONSTRAINT subscription_changes_pkey PRIMARY KEY (company_id, subscription_id, number)
);

CREATE TABLE subscription_movements (
  company_id uuid NOT NULL,
  subscription_id uuid NOT NULL,
  number integer NOT NULL,
  at timestamp with time zone NOT NULL,
  currency text NOT NULL,
  monthly bigint NOT NULL,
  subscribers smallint NOT NULL,
  ended smallint NOT NULL,
  CONSTRAINT subscription_movements_company_id_subscription_id_fkey FOREIGN KEY (company_id, subscription_id) REFERENCES subscriptions(company_id, id) ON DELETE CASCADE,
  CONSTRAINT subscription_movements_ended_check CHECK ((ended = ANY (ARRAY[0, 1]))),
  CONSTRAINT subscription_movements_number_check CHECK ((number > 0)),
  CONSTRAINT subscription_movements_pkey PRIMARY KEY (company_id, subscription_id, number),
  CONSTRAINT subscription_movements_subscribers_check CHECK (((subscribers >= '-1'::integer) AND (subscribers <= 1)))
);
CREATE INDEX subscription_movements_at ON public.subscription_movements USING btree (company_id, at);

CREATE TABLE subscriptions (
  company_id uuid NOT NULL,
  id uuid NOT NULL,
  customer_id uuid NOT NULL,
  plan_id uuid NOT NULL,
  payment_method_id uuid NOT NULL,
  card_brand text NOT NULL,
  card_last4 text NOT NULL,
  status text NOT NULL,
  plan_name text NOT NULL,
  amount bigint NOT NULL,
  one_time_amount bigint NOT NULL,
  currency text NOT NULL,
  items json NOT NULL,
  "interval" text NOT NULL,
  interval_count integer NOT NULL,
  anchor_day smallint,
  billing_cycles integer NOT NULL,
  end_date text,
  coupon json,
  description text,
  shipping json,
  shipping_address_id uuid,
  metadata json NOT NULL,
  start_at timestamp with time zone NOT NULL,
  base_at timestamp with time zone NOT NULL,
  next_number integer NOT NULL,
  current_cycle integer NOT NULL,
  completed_cycles integer NOT NULL,
  current_period_start timestamp with time zone,
  current_period_end timestamp with time zone,
  due_at timestamp with time zone,
  first_declined_at timestamp with time zone,
  next_retry_at timestamp with time zone,
  attempt_count integer NOT NULL,
  last_failure_message text,
  latest_order_id uuid,
  canceled_at timestamp with time zone,
  completed_at timestamp with time zone,
  sequence integer NOT NULL,
  updated_at timestamp with time zone NOT NULL,
  renewal_ended_at timestamp with time zone,
  earlier_end_date text,
  quantity integer NOT NULL DEFAULT 1,
  change_count integer NOT NULL DEFAULT 0,
  scheduled_change json,
  pending_change json,
  period_payment json,
  renewal_items json,
  restarted_at timestamp with time zone,
  resume_at timestamp with time zone,
  CONSTRAINT subscriptions_amount_check CHECK ((amount >= 0)),
  CONSTRAINT subscriptions_anchor_day_check CHECK (((anchor_day >= 1) AND (anchor_day <= 31))),
  CONSTRAINT subscriptions_billing_cycles_check CHECK ((billing_cycles >= 0)),
  CONSTRAINT subscriptions_change_pending CHECK (((pending_change IS NULL) OR (status <> 'failed'::text) OR (((pending_change ->> 'in_cycle'::text))::integer <> current_cycle))),
  CONSTRAINT subscriptions_check CHECK (((interval_count >= 1) AND (interval_count <=
CASE "interval"
    WHEN 'day'::text THEN 365
    ELSE 60
END))),
  CONSTRAINT subscriptions_check1 CHECK (((completed_cycles >= 0) AND (completed_cycles <= current_cycle))),
  CONSTRAINT subscriptions_check3 CHECK (((status = 'canceled'::text) = (canceled_at IS NOT NULL))),
  CONSTRAINT subscriptions_check4 CHECK (((status = 'completed'::text) = (completed_at IS NOT NULL))),
  CONSTRAINT subscriptions_company_id_customer_id_fkey FOREIGN KEY (company_id, customer_id) REFERENCES customers(company_id, id),
  CONSTRAINT subscriptions_company_id_payment_method_id_fkey FOREIGN KEY (company_id, payment_method_id) REFERENCES payment_methods(company_id, id),
  CONSTRAINT subscriptions_company_id_plan_id_fkey FOREIGN KEY (company_id, plan_id) REFERENCES plans(company_id, id),
  CONSTRAINT subscriptions_current_cycle_check CHECK ((current_cycle >= 0)),
  CONSTRAINT subscriptions_due CHECK (((due_at IS NULL) OR (status = ANY (ARRAY['active'::text, 'past_due'::text])) OR ((status = 'paused'::text) AND (NOT (due_at IS DISTINCT FROM resume_at))))),
  CONSTRAINT subscriptions_earlier_end_date_check CHECK ((earlier_end_date ~ '^\d{4}-\d\d-\d\d$'::text)),
  CONSTRAINT subscriptions_end_date_check CHECK ((end_date ~ '^\d{4}-\d\d-\d\d$'::text)),
  CONSTRAINT subscriptions_interval_check CHECK (("interval" = ANY (ARRAY['day'::text, 'month'::text]))),
  CONSTRAINT subscriptions_next_number_check CHECK ((next_number >= 0)),
  CONSTRAINT subscriptions_one_time_amount_check CHECK ((one_time_amount >= 0)),
  CONSTRAINT subscriptions_pkey PRIMARY KEY (company_id, id),
  CONSTRAINT subscriptions_quantity CHECK (((quantity > 0) AND ((amount % (quantity)::bigint) = 0))),
  CONSTRAINT subscriptions_renewal_end CHECK (((renewal_ended_at IS NOT NULL) OR (earlier_end_date IS NULL))),
  CONSTRAINT subscriptions_status_check CHECK ((status = ANY (ARRAY['pending'::text, 'active'::text, 'paused'::text, 'past_due'::text, 'failed'::text, 'canceled'::text, 'completed'::text])))
);
CREATE INDEX subscriptions_card ON public.subscriptions USING btree (company_id, payment_method_id);
CREATE INDEX subscriptions_customer ON public.subscriptions USING btree (company_id, customer_id, id);
CREATE INDEX subscriptions_due_of_company ON public.subscriptions USING btree (company_id, due_at) WHERE (due_at IS NOT NULL);
CREATE INDEX subscriptions_plan ON public.subscriptions USING btree (company_id, plan_id, id);
CREATE INDEX subscriptions_status ON public.subscriptions USING btree (company_id, status, id);
CREATE TRIGGER subscriptions_moved AFTER UPDATE ON public.subscriptions FOR EACH ROW WHEN (((old.status <> new.status) OR (old."interval" <> new."interval") OR (old.interval_count <> new.interval_count) OR (old.amount <> new.amount) OR ((old.coupon)::text IS DISTINCT FROM (new.coupon)::text) OR ((old.current_cycle <> new.current_cycle) AND ((new.coupon ->> 'duration'::text) = 'repeating'::text)))) EXECUTE FUNCTION record_movement();
CREATE TRIGGER subscriptions_started AFTER INSERT ON public.subscriptions FOR EACH ROW WHEN ((new.status = ANY (ARRAY['active'::text, 'past_due'::text]))) EXECUTE FUNCTION record_movement();

CREATE TABLE table_sizes (
  measured_on date NOT NULL,
  table_name text NOT NULL,
  bytes bigint NOT NULL,
  rows bigint NOT NULL,
  CONSTRAINT table_sizes_pkey PRIMARY KEY (measured_on, table_name)
);

CREATE TABLE team_members (
  company_id uuid NOT NULL,
  id uuid NOT NULL,
  email text NOT NULL,
  email_key text NOT NULL,
  first_name text NOT NULL,
  last_name text NOT NULL,
  phone_number text,
  status text NOT NULL,
  role_id uuid NOT NULL,
  invitation_hash bytea,
  invitation_expires_at timestamp with time zone,
  invited_at timestamp with time zone NOT NULL,
  accepted_at timestamp with time zone,
  updated_at timestamp with time zone NOT NULL,
  invited_phone text,
  CONSTRAINT team_members_check CHECK (((status = 'active'::text) <= (accepted_at IS NOT NULL))),
  CONSTRAINT team_members_company_id_role_id_fkey FOREIGN KEY (company_id, role_id) REFERENCES roles(company_id, id),
  CONSTRAINT team_members_email UNIQUE (company_id, email_key),
  CONSTRAINT team_members_phone_e164 CHECK ((invited_phone ~ '^\+[1-9][0-9]{6,14}$'::text)),
  CONSTRAINT team_members_phone_us CHECK ((phone_number ~ '^\+1[0-9]{10}$'::text)),
  CONSTRAINT team_members_pkey PRIMARY KEY (company_id, id),
  CONSTRAINT team_members_status_check CHECK ((status = ANY (ARRAY['pending'::text, 'active'::text, 'blocked'::text])))
);
CREATE UNIQUE INDEX team_members_invitation ON public.team_members USING btree (company_id, invitation_hash) WHERE (invitation_hash IS NOT NULL);
CREATE INDEX team_members_status ON public.team_members USING btree (company_id, status, id);

CREATE TABLE tombstones (
  company_id uuid NOT NULL,
  id uuid NOT NULL,
  object_type text NOT NULL,
  sort_values jsonb NOT NULL,
  CONSTRAINT tombstones_pkey PRIMARY KEY (company_id, id)
);

CREATE TABLE transactions (
  company_id uuid NOT NULL,
  id uuid NOT NULL,
  order_id uuid NOT NULL,
  customer_id uuid NOT NULL,
  payment_method_id uuid NOT NULL,
  type text NOT NULL,
  status text NOT NULL,
  amount bigint NOT NULL,
  currency text NOT NULL,
  card_brand text NOT NULL,
  card_last4 text NOT NULL,
  processor_response json,
  failure_code text,
  failure_reason text,
  updated_at timestamp with time zone NOT NULL,
  reference uuid,
  connection_id uuid,
  settled_at timestamp with time zone,
  CONSTRAINT transactions_amount_check CHECK ((amount > 0)),
  CONSTRAINT transactions_check CHECK (((status = 'failed'::text) = (failure_code IS NOT NULL))),
  CONSTRAINT transactions_company_id_order_id_fkey FOREIGN KEY (company_id, order_id) REFERENCES orders(company_id, id),
  CONSTRAINT transactions_pkey PRIMARY KEY (company_id, id),
  CONSTRAINT transactions_status_check CHECK ((status = ANY ('{succeeded,failed,voided,chargeback}'::text[]))),
  CONSTRAINT transactions_type_check CHECK ((type = ANY ('{sale,refund,auth}'::text[])))
);
CREATE INDEX transactions_amount ON public.transactions USING btree (company_id, amount, id);
CREATE INDEX transactions_authorization_id ON public.transactions USING btree (company_id, ((processor_response ->> 'transaction_id'::text))) WHERE ((connection_id IS NOT NULL) AND (type = 'auth'::text));
CREATE INDEX transactions_customer ON public.transactions USING btree (company_id, customer_id, id);
CREATE UNIQUE INDEX transactions_one_authorization ON public.transactions USING btree (company_id, order_id) WHERE ((type = 'auth'::text) AND (status <> 'failed'::text));
CREATE UNIQUE INDEX transactions_one_successful_sale ON public.transactions USING btree (company_id, order_id) WHERE ((type = 'sale'::text) AND (status <> 'failed'::text));
CREATE INDEX transactions_order ON public.transactions USING btree (company_id, order_id, id);
CREATE INDEX transactions_processor_id ON public.transactions USING btree (company_id, ((processor_response ->> 'transaction_id'::text))) WHERE ((connection_id IS NOT NULL) AND (type = 'sale'::text));
CREATE INDEX transactions_rare_status ON public.transactions USING btree (company_id, status, id) WHERE (status <> 'succeeded'::text);
CREATE INDEX transactions_rare_type ON public.transactions USING btree (company_id, type, id) WHERE (type <> 'sale'::text);
CREATE UNIQUE INDEX transactions_reference ON public.transactions USING btree (company_id, reference) WHERE (reference IS NOT NULL);
CREATE TRIGGER refunds_credited AFTER INSERT ON public.transactions FOR EACH ROW WHEN (((new.type = 'refund'::text) AND (new.status = 'succeeded'::text))) EXECUTE FUNCTION credit_refund();
CREATE TRIGGER refunds_credited_later AFTER UPDATE OF status ON public.transactions FOR EACH ROW WHEN (((new.type = 'refund'::text) AND (old.status <> new.status) AND ((new.status = 'succeeded'::text) OR (old.status = 'succeeded'::text)))) EXECUTE FUNCTION credit_refund();
CREATE TRIGGER transactions_figures AFTER UPDATE OF status ON public.transactions FOR EACH ROW WHEN ((old.status <> new.status)) EXECUTE FUNCTION mark_changed_row();

CREATE TABLE unfinished_sign_ups (
  company_id uuid NOT NULL,
  started_at timestamp with time zone NOT NULL DEFAULT now(),
  CONSTRAINT unfinished_sign_ups_pkey PRIMARY KEY (company_id)
);

CREATE TABLE unmatched_chargebacks (
  company_id uuid NOT NULL,
  id uuid NOT NULL,
  connection_id uuid NOT NULL,
  processor_id text NOT NULL,
  state text NOT NULL DEFAULT 'open'::text,
  charged_back_on date,
  card_first6 text,
  card_last4 text,
  amount text,
  reason text NOT NULL,
  network_reason_code text,
  reason_text text,
  transaction_id uuid,
  happened_at timestamp with time zone NOT NULL,
  created_at timestamp with time zone NOT NULL,
  updated_at timestamp with time zone NOT NULL,
  CONSTRAINT unmatched_chargebacks_card_first6_check CHECK ((card_first6 ~ '^[0-9]{6}$'::text)),
  CONSTRAINT unmatched_chargebacks_card_last4_check CHECK ((card_last4 ~ '^[0-9]{4}$'::text)),
  CONSTRAINT unmatched_chargebacks_check CHECK (((state = 'matched'::text) = (transaction_id IS NOT NULL))),
  CONSTRAINT unmatched_chargebacks_company_id_connection_id_fkey FOREIGN KEY (company_id, connection_id) REFERENCES processor_connections(company_id, id),
  CONSTRAINT unmatched_chargebacks_pkey PRIMARY KEY (company_id, id),
  CONSTRAINT unmatched_chargebacks_state_check CHECK ((state = ANY (ARRAY['open'::text, 'matched'::text, 'dismissed'::text])))
);
CREATE INDEX unmatched_chargebacks_open ON public.unmatched_chargebacks USING btree (company_id, created_at) WHERE (state = 'open'::text);
CREATE UNIQUE INDEX unmatched_chargebacks_processor_id ON public.unmatched_chargebacks USING btree (company_id, connection_id, processor_id);

CREATE TABLE unreferenced_cards (
  company_id uuid NOT NULL,
  card_id uuid NOT NULL,
  due_at timestamp with time zone NOT NULL,
  deleting boolean NOT NULL DEFAULT false,
  noted_at timestamp with time zone NOT NULL DEFAULT now(),
  CONSTRAINT unreferenced_cards_pkey PRIMARY KEY (company_id, card_id)
);
CREATE INDEX unreferenced_cards_due ON public.unreferenced_cards USING btree (due_at);

CREATE TABLE unreferenced_files (
  file_key text NOT NULL,
  due_at timestamp with time zone NOT NULL,
  deleting boolean NOT NULL DEFAULT false,
  CONSTRAINT unreferenced_files_pkey PRIMARY KEY (file_key)
);
CREATE INDEX unreferenced_files_due ON public.unreferenced_files USING btree (due_at);

CREATE TABLE users (
  id uuid NOT NULL,
  email text NOT NULL,
  email_key text NOT NULL,
  email_verified_at timestamp with time zone,
  first_name text NOT NULL,
  last_name text NOT NULL,
  password_hash text NOT NULL,
  totp_secret bytea,
  totp_confirmed_at timestamp with time zone,
  totp_last_step bigint,
  recovery_hashes bytea[] NOT NULL DEFAULT '{}'::bytea[],
  phone_number text,
  CONSTRAINT users_email UNIQUE (email_key),
  CONSTRAINT users_phone_e164 CHECK ((phone_number ~ '^\+[1-9][0-9]{6,14}$'::text)),
  CONSTRAINT users_pkey PRIMARY KEY (id)
);

CREATE TABLE voids (
  company_id uuid NOT NULL,
  id uuid NOT NULL,
  order_id uuid NOT NULL,
  approved boolean NOT NULL,
  failure_reason text,
  recorded_at timestamp with time zone NOT NULL,
  reference uuid,
  CONSTRAINT voids_check CHECK ((approved = (failure_reason IS NULL))),
  CONSTRAINT voids_company_id_order_id_fkey FOREIGN KEY (company_id, order_id) REFERENCES orders(company_id, id),
  CONSTRAINT voids_pkey PRIMARY KEY (company_id, id)
);
CREATE UNIQUE INDEX voids_one_approved ON public.voids USING btree (company_id, order_id) WHERE approved;
CREATE INDEX voids_order ON public.voids USING btree (company_id, order_id);
CREATE UNIQUE INDEX voids_reference ON public.voids USING btree (company_id, reference) WHERE (reference IS NOT NULL);

CREATE TABLE webhook_deliveries (
  company_id uuid NOT NULL,
  endpoint_id uuid NOT NULL,
  event_id uuid NOT NULL,
  event_inserted_at timestamp with time zone NOT NULL,
  status text NOT NULL DEFAULT 'pending'::text,
  attempts integer NOT NULL DEFAULT 0,
  last_attempt_at timestamp with time zone,
  next_attempt_at timestamp with time zone,
  claimed_by uuid,
  inserted_at timestamp with time zone NOT NULL DEFAULT now(),
  claimed_at timestamp with time zone,
  CONSTRAINT webhook_deliveries_check CHECK (((status = 'pending'::text) = (next_attempt_at IS NOT NULL))),
  CONSTRAINT webhook_deliveries_pkey PRIMARY KEY (company_id, endpoint_id, event_id, inserted_at),
  CONSTRAINT webhook_deliveries_status_check CHECK ((status = ANY (ARRAY['pending'::text, 'delivered'::text, 'failed'::text])))
);
CREATE INDEX webhook_deliveries_due ON ONLY public.webhook_deliveries USING btree (next_attempt_at) WHERE (status = 'pending'::text);
CREATE INDEX webhook_deliveries_failed ON ONLY public.webhook_deliveries USING btree (company_id, endpoint_id, event_id) WHERE (status = 'failed'::text);

CREATE TABLE webhook_deliveries_default (
  company_id uuid NOT NULL,
  endpoint_id uuid NOT NULL,
  event_id uuid NOT NULL,
  event_inserted_at timestamp with time zone NOT NULL,
  status text NOT NULL DEFAULT 'pending'::text,
  attempts integer NOT NULL DEFAULT 0,
  last_attempt_at timestamp with time zone,
  next_attempt_at timestamp with time zone,
  claimed_by uuid,
  inserted_at timestamp with time zone NOT NULL DEFAULT now(),
  claimed_at timestamp with time zone,
  CONSTRAINT webhook_deliveries_check CHECK (((status = 'pending'::text) = (next_attempt_at IS NOT NULL))),
  CONSTRAINT webhook_deliveries_default_pkey PRIMARY KEY (company_id, endpoint_id, event_id, inserted_at),
  CONSTRAINT webhook_deliveries_status_check CHECK ((status = ANY (ARRAY['pending'::text, 'delivered'::text, 'failed'::text])))
);
CREATE INDEX webhook_deliveries_default_company_id_endpoint_id_event_id_idx ON public.webhook_deliveries_default USING btree (company_id, endpoint_id, event_id) WHERE (status = 'failed'::text);
CREATE INDEX webhook_deliveries_default_next_attempt_at_idx ON public.webhook_deliveries_default USING btree (next_attempt_at) WHERE (status = 'pending'::text);

CREATE TABLE webhook_delivery_logs (
  company_id uuid NOT NULL,
  endpoint_id uuid NOT NULL,
  id uuid NOT NULL,
  event_id uuid NOT NULL,
  event_type text NOT NULL,
  attempt integer NOT NULL,
  status text NOT NULL,
  http_status smallint,
  duration_ms integer NOT NULL,
  error text,
  request_headers json NOT NULL,
  response_body text,
  inserted_at timestamp with time zone NOT NULL DEFAULT now(),
  CONSTRAINT webhook_delivery_logs_pkey PRIMARY KEY (company_id, endpoint_id, id, inserted_at),
  CONSTRAINT webhook_delivery_logs_status_check CHECK ((status = ANY (ARRAY['success'::text, 'failed'::text])))
);

CREATE TABLE webhook_delivery_logs_default (
  company_id uuid NOT NULL,
  endpoint_id uuid NOT NULL,
  id uuid NOT NULL,
  event_id uuid NOT NULL,
  event_type text NOT NULL,
  attempt integer NOT NULL,
  status text NOT NULL,
  http_status smallint,
  duration_ms integer NOT NULL,
  error text,
  request_headers json NOT NULL,
  response_body text,
  inserted_at timestamp with time zone NOT NULL DEFAULT now(),
  CONSTRAINT webhook_delivery_logs_default_pkey PRIMARY KEY (company_id, endpoint_id, id, inserted_at),
  CONSTRAINT webhook_delivery_logs_status_check CHECK ((status = ANY (ARRAY['success'::text, 'failed'::text])))
);

CREATE TABLE webhook_endpoints (
  company_id uuid NOT NULL,
  id uuid NOT NULL,
  url text NOT NULL,
  description text,
  enabled_events text[] NOT NULL,
  status text NOT NULL,
  disabled_reason text,
  api_version text NOT NULL,
  secret bytea NOT NULL,
  failing_since timestamp with time zone,
  sequence integer NOT NULL DEFAULT 0,
  updated_at timestamp with time zone NOT NULL,
  previous_secrets bytea[] NOT NULL DEFAULT '{}'::bytea[],
  previous_secrets_until timestamp with time zone[] NOT NULL DEFAULT '{}'::timestamp with time zone[],
  CONSTRAINT webhook_endpoints_check CHECK ((cardinality(previous_secrets) = cardinality(previous_secrets_until))),
  CONSTRAINT webhook_endpoints_company_id_fkey FOREIGN KEY (company_id) REFERENCES companies(id),
  CONSTRAINT webhook_endpoints_enabled_events_check CHECK ((cardinality(enabled_events) > 0)),
  CONSTRAINT webhook_endpoints_pkey PRIMARY KEY (company_id, id),
  CONSTRAINT webhook_endpoints_status_check CHECK ((status = ANY (ARRAY['enabled'::text, 'disabled'::text])))
);

CREATE TABLE workers (
  id uuid NOT NULL,
  seen_at timestamp with time zone NOT NULL,
  CONSTRAINT workers_pkey PRIMARY KEY (id)
);

CREATE TABLE vault.card_declines (
  company_id uuid NOT NULL,
  connection_id uuid NOT NULL,
  reference uuid NOT NULL,
  fingerprint text NOT NULL,
  at timestamp with time zone NOT NULL,
  amount bigint NOT NULL,
  currency text,
  by_customer boolean NOT NULL,
  failure_code text,
  CONSTRAINT card_declines_pkey PRIMARY KEY (company_id, connection_id, reference)
);
CREATE INDEX card_declines_at ON vault.card_declines USING btree (at);
CREATE INDEX card_declines_card ON vault.card_declines USING btree (company_id, fingerprint);

CREATE TABLE vault.cards (
  company_id uuid NOT NULL,
  id uuid NOT NULL,
  mode text NOT NULL,
  key_version integer NOT NULL,
  wrapped_key bytea NOT NULL,
  sealed bytea NOT NULL,
  network_transaction_ids jsonb NOT NULL DEFAULT '{}'::jsonb,
  verification json,
  fingerprint text,
  CONSTRAINT cards_mode_check CHECK ((mode = ANY (ARRAY['sandbox'::text, 'live'::text]))),
  CONSTRAINT cards_pkey PRIMARY KEY (company_id, id)
);
CREATE INDEX cards_rotation ON vault.cards USING btree (mode, key_version);

CREATE TABLE vault.connections (
  company_id uuid NOT NULL,
  id uuid NOT NULL,
  kind text NOT NULL,
  timeout_ms integer NOT NULL,
  first_url text,
  key_version integer NOT NULL,
  wrapped_key bytea NOT NULL,
  sealed bytea NOT NULL,
  CONSTRAINT connections_pkey PRIMARY KEY (company_id, id),
  CONSTRAINT connections_timeout_ms_check CHECK ((timeout_ms > 0))
);

CREATE TABLE vault.prepared_charges (
  company_id uuid NOT NULL,
  reference uuid NOT NULL,
  connection_id uuid NOT NULL,
  handle text,
  created_at timestamp with time zone NOT NULL DEFAULT now(),
  CONSTRAINT prepared_charges_pkey PRIMARY KEY (company_id, reference, connection_id)
);

CREATE TABLE vault.processor_connections (
  company_id uuid NOT NULL,
  url text NOT NULL,
  timeout_ms integer NOT NULL,
  request_life_ms integer NOT NULL,
  key_version integer NOT NULL,
  wrapped_key bytea NOT NULL,
  sealed bytea NOT NULL,
  CONSTRAINT processor_connections_check CHECK ((request_life_ms > timeout_ms)),
  CONSTRAINT processor_connections_pkey PRIMARY KEY (company_id),
  CONSTRAINT processor_connections_timeout_ms_check CHECK ((timeout_ms > 0))
);

CREATE TABLE vault.sandbox_challenges (
  company_id uuid NOT NULL,
  reference uuid NOT NULL,
  token text NOT NULL,
  card_id uuid NOT NULL,
  behaviour text NOT NULL,
  state text NOT NULL,
  amount bigint NOT NULL,
  currency text NOT NULL,
  last4 text NOT NULL,
  asked_at timestamp with time zone NOT NULL DEFAULT now(),
  answered_at timestamp with time zone,
  CONSTRAINT sandbox_challenges_answered CHECK (((state = 'open'::text) = (answered_at IS NULL))),
  CONSTRAINT sandbox_challenges_pkey PRIMARY KEY (company_id, reference),
  CONSTRAINT sandbox_challenges_state_check CHECK ((state = ANY (ARRAY['open'::text, 'passed'::text, 'failed'::text, 'ended'::text])))
);
CREATE INDEX sandbox_challenges_card ON vault.sandbox_challenges USING btree (company_id, card_id) WHERE (state = 'passed'::text);
CREATE UNIQUE INDEX sandbox_challenges_token ON vault.sandbox_challenges USING btree (company_id, token);

CREATE TABLE vault.sandbox_declines (
  company_id uuid NOT NULL,
  fingerprint text NOT NULL,
  failure_code text NOT NULL,
  CONSTRAINT sandbox_declines_pkey PRIMARY KEY (company_id, fingerprint)
);

CREATE TABLE vault.sandbox_operations (
  company_id uuid NOT NULL,
  reference uuid NOT NULL,
  kind text NOT NULL,
  behaviour text NOT NULL,
  card_id uuid NOT NULL,
  charge_reference uuid,
  approved boolean NOT NULL,
  failure_code text,
  CONSTRAINT sandbox_operations_kind_check CHECK ((kind = ANY (ARRAY['charge'::text, 'refund'::text]))),
  CONSTRAINT sandbox_operations_pkey PRIMARY KEY (company_id, reference)
);
CREATE INDEX sandbox_operations_card ON vault.sandbox_operations USING btree (company_id, card_id);
CREATE INDEX sandbox_operations_refunds ON vault.sandbox_operations USING btree (company_id, charge_reference) WHERE (charge_reference IS NOT NULL);

CREATE TABLE vault.saved_cards (
  company_id uuid NOT NULL,
  card_id uuid NOT NULL,
  connection_id uuid NOT NULL,
  key_version integer NOT NULL,
  wrapped_key bytea NOT NULL,
  sealed bytea NOT NULL,
  CONSTRAINT saved_cards_pkey PRIMARY KEY (company_id, card_id, connection_id)
);
CREATE INDEX saved_cards_rotation ON vault.saved_cards USING btree (key_version);

CREATE TABLE vault.secret_checks (
  name text NOT NULL,
  digest bytea NOT NULL,
  CONSTRAINT secret_checks_pkey PRIMARY KEY (name)
);

-- Views

CREATE VIEW all_transactions AS
 SELECT transactions.company_id,
    transactions.id,
    transactions.order_id,
    transactions.customer_id,
    transactions.payment_method_id,
    transactions.type,
    transactions.status,
    transactions.amount,
    transactions.currency,
    transactions.card_brand,
    transactions.card_last4,
    transactions.processor_response,
    transactions.failure_code,
    transactions.failure_reason,
    transactions.updated_at,
    COALESCE(transactions.reference, transactions.id) AS reference,
    transactions.connection_id,
    transactions.settled_at
   FROM transactions
UNION ALL
 SELECT open_transactions.company_id,
    open_transactions.id,
    open_transactions.order_id,
    open_transactions.customer_id,
    open_transactions.payment_method_id,
    open_transactions.type,
    'in_progress'::text AS status,
    open_transactions.amount,
    open_transactions.currency,
    open_transactions.card_brand,
    open_transactions.card_last4,
    open_transactions.processor_response,
    NULL::text AS failure_code,
    NULL::text AS failure_reason,
    open_transactions.updated_at,
    COALESCE(open_transactions.reference, open_transactions.id) AS reference,
    open_transactions.connection_id,
    NULL::timestamp with time zone AS settled_at
   FROM open_transactions
  WHERE open_transactions.type <> 'void'::text;

CREATE VIEW endpoint_events AS
 SELECT d.company_id,
    d.endpoint_id,
    d.event_id AS id,
    d.status,
    d.attempts,
    d.last_attempt_at,
    d.next_attempt_at,
    e.type,
    e.object,
    e.previous
   FROM webhook_deliveries d
     JOIN events e ON e.company_id = d.company_id AND e.id = d.event_id AND e.inserted_at = d.event_inserted_at;

-- Functions

CREATE OR REPLACE FUNCTION public.add_first_movements(s subscriptions)
 RETURNS void
 LANGUAGE sql
AS $function$
  INSERT INTO subscription_movements (company_id, subscription_id, number, at, currency, monthly, subscribers, ended)
  SELECT s.company_id, s.id, number, at, s.currency, subscribers * monthly_amount(s.amount, s."interval", s.interval_count,
    s.coupon, greatest(s.current_cycle, 1) + 1), subscribers, ended
  FROM (VALUES (1, id_time(s.id), 1, 0), (2, coalesce(s.canceled_at, s.completed_at, s.updated_at), -1,
    (s.status <> 'paused')::integer)) moved (number, at, subscribers, ended)
  WHERE (s.status IN ('active', 'past_due') OR (s.status <> 'pending' AND s.current_cycle > 0))
    AND (number = 1 OR s.status IN ('canceled', 'completed', 'failed', 'paused')) AND NOT EXISTS (
      SELECT 1 FROM subscription_movements m WHERE m.company_id = s.company_id AND m.subscription_id = s.id)
  ON CONFLICT DO NOTHING
$function$;

CREATE OR REPLACE FUNCTION public.add_order_cursor()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
BEGIN
  INSERT INTO order_index_cursors (company_id, after_id, until_id, until_at)
  VALUES (NEW.id, '00000000-0000-0000-0000-000000000000', '00000000-0000-0000-0000-000000000000', '-infinity')
  ON CONFLICT DO NOTHING;
  RETURN NULL;
END $function$;

CREATE OR REPLACE FUNCTION public.agree_on_operation_state()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
BEGIN
  IF TG_OP = 'INSERT' AND NEW.state = 'sending' OR NEW.state = OLD.state THEN
    NEW.state := CASE WHEN NEW.slot = NEW.id THEN 'accepted' WHEN NEW.waiting THEN 'waiting'
      WHEN NEW.in_doubt AND NEW.interrupted THEN 'interrupted' WHEN NEW.in_doubt THEN 'in_doubt'
      WHEN NEW.customer_step IS NOT NULL THEN 'with_customer' ELSE 'sending' END;
  END IF;
  NEW.in_doubt := NEW.state IN ('in_doubt', 'interrupted');
  NEW.interrupted := NEW.state = 'interrupted';
  NEW.waiting := NEW.state = 'waiting';
  NEW.waits_for := CASE WHEN NEW.state = 'waiting' THEN coalesce(NEW.waits_for, 'service') END;
  IF NEW.state <> 'with_customer' THEN
    NEW.customer_step := NULL;
    NEW.customer_check_at := NULL;
    NEW.customer_locked_until := NULL;
  END IF;
  RETURN NEW;
END
$function$;

CREATE OR REPLACE FUNCTION public.capture_as_link()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
BEGIN
  -- While a company moves to another shard, its links may arrive later.
  NEW.capture := coalesce((SELECT l.capture FROM payment_links l
    WHERE l.company_id = NEW.company_id AND l.id = NEW.payment_link_id), NEW.capture);
  RETURN NEW;
END $function$;

CREATE OR REPLACE FUNCTION public.credit_refund()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
BEGIN
  INSERT INTO invoices (company_id, id, kind, cause, order_id, customer_id, subject_id, amount, currency, corrects_id)
  SELECT i.company_id, new_id(NEW.updated_at), CASE NEW.status WHEN 'succeeded' THEN 'credit_note' ELSE 'invoice' END,
    CASE NEW.status WHEN 'succeeded' THEN 'refund_settled' ELSE 'refund_returned' END, i.order_id, i.customer_id, NEW.id,
    NEW.amount, NEW.currency, CASE NEW.status WHEN 'succeeded' THEN i.id ELSE n.id END
  FROM standing_invoice(NEW.company_id, NEW.order_id) i
  LEFT JOIN invoices n ON n.company_id = i.company_id AND n.order_id = i.order_id AND n.cause = 'refund_settled'
    AND n.subject_id = NEW.id
  WHERE NEW.status = 'succeeded' OR n.id IS NOT NULL
  ON CONFLICT DO NOTHING;
  RETURN NULL;
END $function$;

CREATE OR REPLACE FUNCTION public.credit_refund_to_credit()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
BEGIN
  INSERT INTO invoices (company_id, id, kind, cause, order_id, customer_id, subject_id, amount, currency, corrects_id)
  SELECT i.company_id, new_id(id_time(NEW.id)), 'credit_note', 'refunded_to_credit', i.order_id, i.customer_id, NEW.id, NEW.amount,
    NEW.currency, i.id
  FROM standing_invoice(NEW.company_id, NEW.order_id) i
  ON CONFLICT DO NOTHING;
  RETURN NULL;
END $function$;

CREATE OR REPLACE FUNCTION public.credit_void()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
BEGIN
  INSERT INTO invoices (company_id, id, kind, cause, order_id, customer_id, subject_id, amount, currency, corrects_id)
  SELECT i.company_id, new_id(NEW.updated_at), 'credit_note', 'payment_voided', i.order_id, i.customer_id, i.order_id, i.amount,
    i.currency, i.id
  FROM standing_invoice(NEW.company_id, NEW.id) i
  ON CONFLICT DO NOTHING;
  RETURN NULL;
END $function$;

CREATE OR REPLACE FUNCTION public.day_at(at timestamp with time zone, zone text)
 RETURNS date
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE
AS $function$
  SELECT CASE WHEN day::timestamp AT TIME ZONE zone > at THEN day - 1 ELSE day END
  FROM (SELECT (at AT TIME ZONE zone)::date AS day) d
$function$;

CREATE OR REPLACE FUNCTION public.describe_new_operation()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
BEGIN
  PERFORM describe_operation(NEW);
  RETURN NULL;
END
$function$;

CREATE OR REPLACE FUNCTION public.describe_operation(operation open_transactions)
 RETURNS void
 LANGUAGE plpgsql
AS $function$
DECLARE
  placed record;
  found_subject text[];
  found_number integer := 0;
BEGIN
  SELECT subscription_id, subscription_cycle, attempt_count INTO placed FROM orders
  WHERE company_id = operation.company_id AND id = operation.order_id;
  SELECT s.subject, n INTO found_subject, found_number
  FROM generate_series(0, placed.attempt_count + 50) AS n CROSS JOIN (VALUES
    ('sale', CASE WHEN placed.subscription_id IS NULL THEN ARRAY['retry', operation.order_id::text]
      ELSE ARRAY['cycle', placed.subscription_id::text, coalesce(placed.subscription_cycle, 1)::text] END),
    ('auth', ARRAY['retry', operation.order_id::text]),
    ('refund', ARRAY['refund', operation.order_id::text]),
    ('void', ARRAY['void', operation.order_id::text])) AS s (type, subject)
  WHERE s.type = operation.type
    AND operation_reference(operation.company_id, s.subject, n) = operation.reference
  LIMIT 1;
  UPDATE open_transactions SET
    subject = coalesce(found_subject, CASE type WHEN 'refund' THEN ARRAY['refund key'] ELSE ARRAY['key'] END),
    number = coalesce(found_number, 0),
    cause = CASE WHEN type IN ('refund', 'void') THEN type WHEN request_id IS NULL AND type = 'sale' THEN 'renewal'
      WHEN found_subject IS NOT NULL THEN 'retry'
      WHEN placed.subscription_id IS NOT NULL THEN 'first_charge' ELSE 'order' END
  WHERE company_id = operation.company_id AND order_id = operation.order_id AND slot = operation.slot AND cause IS NULL;
END
$function$;

CREATE OR REPLACE FUNCTION public.end_customer_sessions()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
BEGIN
  DELETE FROM customer_sessions WHERE company_id = OLD.company_id AND customer_id = OLD.id;
  RETURN NULL;
END $function$;

CREATE OR REPLACE FUNCTION public.end_keys_of_session()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
BEGIN
  UPDATE api_key_lookups SET session_id = NULL WHERE session_id = OLD.id;
  RETURN NULL;
END $function$;

CREATE OR REPLACE FUNCTION public.fan_out_events()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
BEGIN
  INSERT INTO webhook_deliveries (company_id, endpoint_id, event_id, event_inserted_at, next_attempt_at)
  SELECT e.company_id, w.id, e.id, e.inserted_at, now() + c.clock_offset_ms * interval '1 ms'
  FROM added e JOIN webhook_endpoints w ON w.company_id = e.company_id JOIN companies c ON c.id = e.company_id
  WHERE w.status = 'enabled' AND w.enabled_events && ARRAY['*', e.type, split_part(e.type, '.', 1) || '.*'];
  IF FOUND THEN PERFORM pg_notify('webhooks_due', ''); END IF;
  RETURN NULL;
END $function$;

CREATE OR REPLACE FUNCTION public.figures_between(of_company uuid, first timestamp with time zone, next timestamp with time zone)
 RETURNS jsonb
 LANGUAGE sql
 STABLE
AS $function$
  WITH paid AS (
    SELECT currency, sum(amount) FILTER (WHERE is_paid) AS gross, count(*) FILTER (WHERE is_paid) AS payments,
      sum(amount) FILTER (WHERE is_refund) AS refunded
    FROM (SELECT currency, amount, type = 'sale' AND status IN ('succeeded', 'chargeback') AS is_paid,
        type = 'refund' AND status = 'succeeded' AS is_refund
      FROM transactions WHERE company_id = of_company AND id >= first_id(first) AND id < first_id(next)) t GROUP BY 1
  ), failed AS (
    -- Both conditions: the second one is that of the index.
    SELECT currency, failure_code, count(*) AS count FROM transactions
    WHERE company_id = of_company AND status = 'failed' AND status <> 'succeeded' AND type = 'sale'
      AND id >= first_id(first) AND id < first_id(next) GROUP BY 1, 2
  ), moved AS (
    SELECT currency, sum(monthly) AS monthly, sum(subscribers) AS subscribers, sum(ended) AS ended,
      sum(monthly) FILTER (WHERE subscribers = 1) AS began,
      sum(monthly) FILTER (WHERE subscribers = 0 AND monthly > 0) AS expanded,
      -sum(monthly) FILTER (WHERE subscribers = 0 AND monthly < 0) AS contracted,
      -sum(monthly) FILTER (WHERE subscribers = -1) AS lapsed
    FROM subscription_movements WHERE company_id = of_company AND at >= first AND at < next GROUP BY 1
  ), parts (currency, name, value) AS (
    SELECT currency, 'gross', gross FROM paid
    UNION ALL SELECT currency, 'payments', payments FROM paid
    UNION ALL SELECT currency, 'refunded', refunded FROM paid
    UNION ALL SELECT currency, 'failed', count FROM failed
    UNION ALL SELECT currency, 'failed:' || failure_code, count FROM failed
    UNION ALL SELECT currency, 'disputed', amount FROM disputes
      WHERE company_id = of_company AND id >= first_id(first) AND id < first_id(next)
        AND state IN ('needs_response', 'under_review', 'lost', 'accepted')
    UNION ALL SELECT currency, 'monthly', monthly FROM moved
    UNION ALL SELECT currency, 'subscribers', subscribers FROM moved
    UNION ALL SELECT currency, 'ended', ended FROM moved
    UNION ALL SELECT currency, 'new_mrr', began FROM moved
    UNION ALL SELECT currency, 'expansion', expanded FROM moved
    UNION ALL SELECT currency, 'contraction', contracted FROM moved
    UNION ALL SELECT currency, 'churned_mrr', lapsed FROM moved
    -- A customer that was deleted since still counts.
    UNION ALL SELECT '', 'customers', count(*) FROM customers
      WHERE company_id = of_company AND id >= first_id(first) AND id < first_id(next)
    UNION ALL SELECT '', 'customers', count(*) FROM tombstones
      WHERE company_id = of_company AND id >= first_id(first) AND id < first_id(next) AND object_type = 'customer'
  ), totals AS (
    SELECT currency, name, sum(value) AS value FROM parts GROUP BY 1, 2 HAVING sum(value) <> 0
  )
  SELECT coalesce(jsonb_object_agg(currency, of_currency), '{}')
  FROM (SELECT currency, jsonb_object_agg(name, value) AS of_currency FROM totals GROUP BY 1) by_currency
$function$;

CREATE OR REPLACE FUNCTION public.first_id(at timestamp with time zone)
 RETURNS uuid
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE
AS $function$
  SELECT rpad(lpad(to_hex(greatest(0, floor(extract(epoch FROM at) * 1000)::bigint)), 12, '0'), 32, '0')::uuid
$function$;

CREATE OR REPLACE FUNCTION public.forget_audit_entries(people_days integer, key_days integer, most integer)
 RETURNS integer
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
AS $function$
DECLARE
  -- The first id of the millisecond: ids begin with their time.
  people uuid := (lpad(to_hex((extract(epoch FROM now() - greatest(people_days, 365) * interval '1 day') * 1000)::bigint), 12, '0') || repeat('0', 20))::uuid;
  keys uuid := (lpad(to_hex((extract(epoch FROM now() - greatest(key_days, 30) * interval '1 day') * 1000)::bigint), 12, '0') || repeat('0', 20))::uuid;
  deleted integer;
BEGIN
  -- greatest() ignores null.
  IF people_days IS NULL THEN people := '00000000-0000-0000-0000-000000000000'; END IF;
  IF key_days IS NULL THEN keys := '00000000-0000-0000-0000-000000000000'; END IF;
  WITH old AS (
    SELECT e.company_id, e.id FROM companies c CROSS JOIN LATERAL (
      SELECT a.company_id, a.id FROM audit_entries a
      WHERE a.company_id = c.id AND a.id < greatest(people, keys)
        AND a.id < CASE WHEN a.actor_kind = 'key' THEN keys ELSE people END
      ORDER BY a.id LIMIT most
    ) e WHERE c.id <> ALL (ARRAY(SELECT f.company_id FROM company_fences f)) LIMIT most
  ), gone AS (DELETE FROM audit_entries a USING old WHERE a.company_id = old.company_id AND a.id = old.id RETURNING 1)
  SELECT count(*) INTO deleted FROM gone;
  RETURN deleted;
END $function$;

CREATE OR REPLACE FUNCTION public.id_time(id uuid)
 RETURNS timestamp with time zone
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE
AS $function$
  SELECT timestamptz 'epoch' + ('x' || left(replace(id::text, '-', ''), 12))::bit(48)::bigint * interval '1 ms'
$function$;

CREATE OR REPLACE FUNCTION public.invoice_payment()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
BEGIN
  IF NOT coalesce((SELECT s.enabled FROM invoice_settings s WHERE s.company_id = NEW.company_id), false) THEN
    RETURN NULL;
  END IF;
  INSERT INTO invoices (company_id, id, kind, cause, order_id, customer_id, subject_id, amount, currency, content)
  SELECT NEW.company_id, new_id(NEW.updated_at), 'invoice', 'payment_recorded', NEW.id, NEW.customer_id, NEW.id,
    coalesce(NEW.captured_amount, NEW.total), NEW.currency, json_build_object(
      'mode', c.mode, 'time_zone', c.time_zone, 'locale', coalesce(b.locale, c.locale), 'order_number', NEW.order_number, 'description', NEW.description,
      'items', NEW.items, 'subtotal', NEW.subtotal, 'discount_amount', NEW.discount_amount, 'total', NEW.total, 'credit_applied', coalesce(NEW.credit_applied, 0),
      'coupon_code', NEW.coupon ->> 'code', 'shipping', NEW.shipping,
      'card', CASE WHEN NEW.sale_id IS NOT NULL
        THEN json_build_object('brand', NEW.card_brand, 'last_four', NEW.card_last4) END,
      'plan', CASE WHEN NEW.subscription_id IS NOT NULL THEN (
        SELECT CASE WHEN NEW.subscription_change IS NOT NULL
          THEN json_build_object('name', coalesce(NEW.description, u.plan_name), 'setup_fee', 0)
          ELSE json_build_object('name', coalesce(e.before ->> 'plan_name', u.plan_name), 'setup_fee',
            CASE WHEN coalesce(NEW.subscription_cycle, 1) = 1
              THEN coalesce((e.before ->> 'one_time_amount')::bigint, u.one_time_amount) ELSE 0 END) END
        FROM subscriptions u LEFT JOIN LATERAL (
          SELECT h.before FROM subscription_changes h WHERE h.company_id = u.company_id AND h.subscription_id = u.id
            AND h.recorded_at > id_time(NEW.id) ORDER BY h.number LIMIT 1
        ) e ON true WHERE u.company_id = NEW.company_id AND u.id = NEW.subscription_id) END,
      'tax', CASE WHEN s.tax_rates <> '[]' OR s.business_rules <> '[]' THEN (
        SELECT json_build_object('country', a.place ->> 'country', 'region', a.place ->> 'state', 'business_rules', (
          SELECT json_agg(r) FROM jsonb_array_elements(s.business_rules) AS r WHERE r -> 'countries' ? (a.place ->> 'country')
        ), 'rates', (
          SELECT json_agg(r) FROM jsonb_array_elements(s.tax_rates) AS r WHERE r ->> 'country' = a.place ->> 'country'
        ), 'categories', (
          SELECT json_object_agg(d.id, d.category) FROM json_array_elements(NEW.items) AS item
          JOIN products d ON d.company_id = NEW.company_id AND d.id = (item ->> 'product_id')::uuid
          WHERE d.category IS NOT NULL
        ))
        FROM (VALUES (1, NEW.shipping::jsonb), (2, m.billing_details -> 'address'), (3, b.shipping_address), (4, p.address))
          AS a (number, place)
        WHERE a.place ->> 'country' IS NOT NULL ORDER BY a.number LIMIT 1
      ) END,
      'seller', json_build_object('name', coalesce(s.legal_name, p.display_name, c.name), 'address', p.address,
        'tax_id', p.tax_id, 'email', p.support_email, 'website', p.website, 'color', p.color),
      'buyer', json_build_object('name', b.first_name || ' ' || b.last_name, 'company', b.company, 'tax_id', b.tax_id, 'email', b.email,
        'address', coalesce(nullif(m.billing_details -> 'address', 'null'), b.shipping_address)))
  FROM companies c JOIN invoice_settings s ON s.company_id = c.id LEFT JOIN company_profiles p ON p.company_id = c.id
  CROSS JOIN customers b
  LEFT JOIN payment_methods m ON m.company_id = NEW.company_id AND m.id = NEW.payment_method_id
  WHERE c.id = NEW.company_id AND b.company_id = NEW.company_id AND b.id = NEW.customer_id
  ON CONFLICT DO NOTHING;
  RETURN NULL;
END $function$;

CREATE OR REPLACE FUNCTION public.maintain_partitions(parent text, retention interval)
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
 SET "TimeZone" TO 'UTC'
AS $function$
DECLARE
  unit text := CASE parent WHEN 'requests' THEN 'day' ELSE 'week' END;
  step interval := ('1 ' || unit)::interval;
  starts timestamptz[];
  old text[];
  start timestamptz;
  name text;
BEGIN
  IF parent <> ALL (ARRAY['events', 'webhook_deliveries', 'webhook_delivery_logs', 'requests']) THEN
    RAISE 'not a table with pieces: %', parent;
  END IF;
  PERFORM pg_advisory_xact_lock(hashtextextended('maintain_partitions', 0));
  SELECT array_agg(s) INTO starts
  FROM generate_series(date_trunc(unit, now()), now() + 3 * step, step) AS s
  WHERE to_regclass(parent || '_' || to_char(s, 'YYYYMMDD')) IS NULL;
  SELECT array_agg(c.relname) INTO old FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
  WHERE i.inhparent = parent::regclass AND c.relname ~ '_\d{8}$'
    AND to_date(right(c.relname, 8), 'YYYYMMDD') + step < now() - retention;
  IF starts IS NOT NULL OR old IS NOT NULL THEN EXECUTE format('LOCK TABLE %I IN ACCESS EXCLUSIVE MODE', parent); END IF;
  FOREACH start IN ARRAY coalesce(starts, '{}') LOOP
    name := parent || '_' || to_char(start, 'YYYYMMDD');
    EXECUTE format('CREATE TABLE %I (LIKE %I INCLUDING DEFAULTS INCLUDING CONSTRAINTS) WITH (fillfactor = %s)', name, parent,
      CASE parent WHEN 'webhook_deliveries' THEN 50 ELSE 100 END);
    EXECUTE format('WITH moved AS (DELETE FROM %I WHERE inserted_at >= %L AND inserted_at < %L RETURNING *)
      INSERT INTO %I SELECT * FROM moved', parent || '_default', start, start + step, name);
    EXECUTE format('ALTER TABLE %I ATTACH PARTITION %I FOR VALUES FROM (%L) TO (%L)', parent, name, start, start + step);
  END LOOP;
  FOREACH name IN ARRAY coalesce(old, '{}') LOOP
    EXECUTE format('DROP TABLE %I', name);
  END LOOP;
  EXECUTE format('DELETE FROM %I WHERE inserted_at < now() - %L::interval', parent || '_default', retention);
END $function$;

CREATE OR REPLACE FUNCTION public.make_figures_due()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
BEGIN
  INSERT INTO figure_states (company_id) VALUES (NEW.id) ON CONFLICT (company_id) DO UPDATE SET due_at = now();
  RETURN NULL;
END $function$;

CREATE OR REPLACE FUNCTION public.mark_changed_row()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
BEGIN
  PERFORM mark_figures(NEW.company_id, id_time(NEW.id));
  RETURN NULL;
END $function$;

CREATE OR REPLACE FUNCTION public.mark_figures(of_company uuid, changed timestamp with time zone)
 RETURNS void
 LANGUAGE sql
AS $function$
  INSERT INTO figure_marks (company_id, at)
  SELECT of_company, changed FROM figure_states s WHERE s.company_id = of_company
$function$;

CREATE OR REPLACE FUNCTION public.monthly_amount(amount bigint, unit text, unit_count integer, coupon json, cycle integer)
 RETURNS bigint
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE
AS $function$
  SELECT round((amount - coalesce(CASE
      WHEN coupon IS NULL OR json_typeof(coupon->'percentage') NOT IN ('number', 'null') OR NOT (coupon->>'duration' = 'forever' OR cycle <= CASE coupon->>'duration'
        WHEN 'repeating' THEN (coupon->>'duration_in_cycles')::integer ELSE 1 END) THEN 0
      WHEN coupon->>'percentage' IS NULL THEN least((coupon->>'amount')::bigint, amount)
      ELSE least(floor(amount * round((coupon->>'percentage')::numeric * 100) / 10000),
        (coupon->>'max_discount_amount')::bigint)
    END, 0)) * CASE unit WHEN 'day' THEN 365::numeric / 12 ELSE 1 END / unit_count)::bigint
$function$;

CREATE OR REPLACE FUNCTION public.new_id(at timestamp with time zone)
 RETURNS uuid
 LANGUAGE sql
 PARALLEL SAFE
AS $function$
  SELECT overlay(gen_random_uuid()::text PLACING left(first_id(at)::text, 13) || '-7' FROM 1 FOR 15)::uuid
$function$;

CREATE OR REPLACE FUNCTION public.next_activity(of_company uuid, since timestamp with time zone)
 RETURNS timestamp with time zone
 LANGUAGE sql
 STABLE
AS $function$
  SELECT least(
    (SELECT id_time(id) FROM transactions WHERE company_id = of_company AND id >= first_id(since) ORDER BY id LIMIT 1),
    (SELECT id_time(id) FROM disputes WHERE company_id = of_company AND id >= first_id(since) ORDER BY id LIMIT 1),
    (SELECT id_time(id) FROM customers WHERE company_id = of_company AND id >= first_id(since) ORDER BY id LIMIT 1),
    (SELECT id_time(id) FROM tombstones WHERE company_id = of_company AND id >= first_id(since) ORDER BY id LIMIT 1),
    (SELECT at FROM subscription_movements WHERE company_id = of_company AND at >= since ORDER BY at LIMIT 1),
    (SELECT min(id_time(id)) FROM open_transactions
      WHERE company_id = of_company AND id >= first_id(since) AND type <> 'void'))
$function$;

CREATE OR REPLACE FUNCTION public.notify_access_changed()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
BEGIN
  PERFORM pg_notify('access_changed', '');
  RETURN NULL;
END $function$;

CREATE OR REPLACE FUNCTION public.notify_access_changed_of()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
BEGIN
  PERFORM pg_notify('access_changed', to_jsonb(coalesce(NEW, OLD)) ->> TG_ARGV[0]);
  RETURN NULL;
END $function$;

CREATE OR REPLACE FUNCTION public.operation_reference(company_id uuid, subject text[], number integer)
 RETURNS uuid
 LANGUAGE sql
 IMMUTABLE
AS $function$
  SELECT (substr(d, 1, 12) || '8' || substr(d, 14, 3) || to_hex(('x' || substr(d, 17, 2))::bit(8)::integer & 63 | 128)
    || substr(d, 19, 14))::uuid
  FROM (SELECT encode(sha256(convert_to(array_to_string(
    ARRAY['svc reference 1', company_id::text] || subject || number::text, E'\n'), 'UTF8')), 'hex') AS d) AS hashed
$function$;

CREATE OR REPLACE FUNCTION public.record_movement()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
DECLARE
  counts boolean := NEW.status IN ('active', 'past_due');
  monthly_now bigint := CASE WHEN counts THEN monthly_amount(NEW.amount, NEW."interval", NEW.interval_count, NEW.coupon,
    greatest(NEW.current_cycle, 1) + 1) ELSE 0 END;
  has_ended boolean := NEW.status IN ('canceled', 'completed', 'failed');
  earlier record;
BEGIN
  FOR attempt IN 1..2 LOOP
    SELECT coalesce(sum(m.monthly), 0) AS monthly, coalesce(sum(m.subscribers), 0) AS subscribers,
      coalesce(max(m.number), 0) AS number INTO earlier
    FROM subscription_movements m WHERE m.company_id = NEW.company_id AND m.subscription_id = NEW.id;
    EXIT WHEN earlier.number > 0 OR TG_OP = 'INSERT';
    EXIT WHEN OLD.status = 'pending';
    PERFORM add_first_movements(OLD);
  END LOOP;
  IF earlier.monthly = monthly_now AND earlier.subscribers = counts::integer THEN RETURN NULL; END IF;
  -- A paused subscription does not count, so its end takes nothing away.
  INSERT INTO subscription_movements (company_id, subscription_id, number, at, currency, monthly, subscribers, ended)
  VALUES (NEW.company_id, NEW.id, earlier.number + 1, NEW.updated_at, NEW.currency, monthly_now - earlier.monthly,
    counts::integer - earlier.subscribers, (has_ended AND earlier.subscribers = 1)::integer);
  PERFORM mark_figures(NEW.company_id, NEW.updated_at);
  RETURN NULL;
END $function$;

CREATE OR REPLACE FUNCTION public.refuse_charge_at_once()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
BEGIN
  IF EXISTS (SELECT 1 FROM checkout_sessions s
    WHERE s.company_id = NEW.company_id AND s.id = NEW.session_id AND s.capture = 'manual') THEN
    RAISE EXCEPTION 'the payment of this session is captured later' USING ERRCODE = 'check_violation',
      CONSTRAINT = 'checkout_payments_captured_later';
  END IF;
  RETURN NEW;
END $function$;

CREATE OR REPLACE FUNCTION public.refuse_fenced()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
AS $function$
BEGIN
  IF current_setting('svc.moving', true) IS DISTINCT FROM TG_ARGV[0] THEN
    PERFORM pg_advisory_xact_lock_shared(hashtextextended('fence ' || TG_ARGV[0], 0));
    IF EXISTS (SELECT 1 FROM company_fences WHERE company_id = TG_ARGV[0]::uuid AND state <> 'arriving') THEN
      -- Not a sign that the server is away: in a batch, only the requests of this company fail.
      RAISE 'the company moves to another shard' USING ERRCODE = 'lock_not_available';
    END IF;
  END IF;
  RETURN coalesce(NEW, OLD);
END $function$;

CREATE OR REPLACE FUNCTION public.refuse_left()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
AS $function$
DECLARE
  company uuid;
BEGIN
  -- The keys of files begin with the company.
  IF TG_TABLE_NAME = 'unreferenced_files' THEN company := split_part(NEW.file_key, '/', 1)::uuid;
  ELSE company := NEW.company_id;
  END IF;
  IF EXISTS (SELECT 1 FROM company_fences WHERE company_id = company AND state = 'left') THEN
    RAISE 'the company is on another shard' USING ERRCODE = 'lock_not_available';
  END IF;
  RETURN NEW;
END $function$;

CREATE OR REPLACE FUNCTION public.standing_invoice(of_company uuid, of_order uuid)
 RETURNS SETOF invoices
 LANGUAGE plpgsql
AS $function$
BEGIN
  PERFORM FROM invoices i WHERE i.company_id = of_company AND i.order_id = of_order AND i.cause = 'payment_recorded' FOR KEY SHARE;
  RETURN QUERY SELECT i.* FROM invoices i
    WHERE i.company_id = of_company AND i.order_id = of_order AND i.cause IN ('payment_recorded', 'invoice_corrected')
      AND NOT EXISTS (SELECT FROM invoices c WHERE c.company_id = of_company AND c.order_id = of_order
        AND c.cause = 'invoice_corrected' AND c.subject_id = i.id);
END $function$;
