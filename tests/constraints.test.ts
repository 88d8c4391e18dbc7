import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import pg from 'pg';
import { redundant } from './mutants/redundant.ts';
import { schemaMutants } from './mutants/schema-mutants.ts';
import { cloneDatabase, type TestDatabase } from './support/database.ts';

/** The database refuses rows that operations and recovery never write. Each rule is broken alone. */

type Row = Readonly<Record<string, unknown>>;

const inFlight = '00000000-0000-0000-0000-000000000000';
const now = '2026-11-18T12:00:00Z';
const company_id = randomUUID();
const order_id = randomUUID();
const connection_id = randomUUID();
const card = { card_brand: 'visa', card_last4: '4242', currency: 'usd' };
const customer = { customer_id: randomUUID(), payment_method_id: randomUUID() };
const subscription_id = randomUUID();

/** One row of each table. */
const rows: Readonly<Record<string, Row>> = {
  companies: { id: company_id, account_id: randomUUID(), name: 'Shop', mode: 'live', api_version: '1' },
  orders: {
    ...{ company_id, id: order_id, order_number: '1', ...customer, ...card, status: 'succeeded', items: '[]' },
    ...{ subtotal: 5_000, discount_amount: 100, total: 4_900, refunded_amount: 0, metadata: '{}', attempt_count: 0 },
    ...{ sequence: 1, updated_at: now, sale_id: randomUUID() },
  },
  transactions: {
    ...{ company_id, id: randomUUID(), order_id, ...customer, ...card, type: 'sale', status: 'succeeded' },
    ...{ amount: 4_900, updated_at: now, reference: randomUUID() },
  },
  open_transactions: {
    ...{ company_id, order_id, slot: inFlight, id: randomUUID(), ...customer, ...card, type: 'sale', cause: 'renewal' },
    ...{ amount: 4_900, updated_at: now, locked_until: now, next_check_at: now, reference: randomUUID() },
  },
  payment_methods: {
    ...{ company_id, id: randomUUID(), customer_id: customer.customer_id, card_id: randomUUID(), brand: 'visa' },
    ...{ last4: '4242', exp_month: 12, exp_year: 2031, fingerprint: 'same' },
  },
  voids: { company_id, id: randomUUID(), order_id, approved: true, recorded_at: now, reference: randomUUID() },
  disputes: {
    ...{ company_id, id: randomUUID(), order_id, transaction_id: randomUUID(), processor_id: 'dp_1', state: 'won' },
    ...{ amount: 4_900, currency: 'usd', reason: 'fraud', state_at: now, created_at: now, updated_at: now },
  },
  scheduled_chargebacks: { company_id, order_id, due_at: now },
  company_gates: { company_id, noticed_by: 'operator', detail: 'a restore' },
  restores: { id: randomUUID(), noticed_by: 'operator', detail: 'a restore' },
  processor_connections: {
    ...{ company_id, id: connection_id, kind: 'stripe', name: 'Stripe', position: 1, request_life_ms: 60_000 },
    ...{ account_id: 'acct_1' },
  },
  unmatched_chargebacks: {
    ...{ company_id, id: randomUUID(), connection_id, processor_id: 'cb_1', reason: 'fraud', happened_at: now },
    ...{ created_at: now, updated_at: now },
  },
  invoices: {
    ...{ company_id, id: randomUUID(), kind: 'invoice', cause: 'payment_recorded', order_id, subject_id: order_id },
    ...{ customer_id: customer.customer_id, amount: 4_900, currency: 'usd', content: '{}' },
    ...{ series: 'R-', number: 1, full_number: 'R-1' },
  },
  invoice_settings: {
    ...{ company_id, enabled: true, invoice_prefix: 'R-', credit_note_prefix: 'C-', with_year: true, padding: 4 },
  },
  invoice_series: { company_id, label: 'R-', last_number: 1 },
  credit_balances: { company_id, customer_id: customer.customer_id, currency: 'usd', balance: 100, entries: 1 },
  credit_entries: {
    ...{ company_id, id: randomUUID(), customer_id: customer.customer_id, currency: 'usd', number: 1, type: 'grant' },
    ...{ amount: 100, balance: 100, reason: 'a late parcel' },
  },
  card_setups: { company_id, ...customer, customer_until: now, check_at: now },
  missing_operations: {
    ...{ company_id, reference: randomUUID(), kind: 'charge', processor_transaction_id: 'ch_1', executed_at: now },
  },
};

/** What changes a row so that it breaks the CHECK and no other. */
const broken: Readonly<Record<string, string>> = {
  companies_gate_check: `gate = 'ajar'`,
  company_gates_check: 'opened_at = now()',
  company_gates_noticed_by_check: `noticed_by = 'chance'`,
  company_gates_waits_for_check: `waits_for = 'rain'`,
  credit_balances_has_entries: 'entries = 0',
  credit_balances_not_negative: 'balance = -1',
  credit_entries_adds_up: 'balance = 50',
  credit_entries_direction: 'number = 2, amount = -100',
  credit_entries_has_reason: 'reason = NULL',
  credit_entries_not_negative: 'number = 2, balance = -1',
  credit_entries_numbered: 'number = 0',
  credit_entries_of_order: 'order_id = id',
  credit_entries_type: `number = 2, type = 'gift', amount = -100, reason = NULL`,
  disputes_amount_check: 'amount = 0',
  disputes_state_check: `state = 'forgotten'`,
  invoice_series_last_number: 'last_number = 0',
  invoice_settings_credit_note_prefix: `credit_note_prefix = 'C1'`,
  invoice_settings_invoice_prefix: `invoice_prefix = 'R1'`,
  invoice_settings_padding: 'padding = 0',
  invoices_amount: 'amount = -1',
  invoices_cause: `cause = 'gift', content = NULL, corrects_id = id, subject_id = id`,
  invoices_content: 'content = NULL',
  invoices_corrected_subject: `cause = 'invoice_corrected', reason = 'a new name', corrects_id = customer_id, subject_id = id`,
  invoices_corrects: 'corrects_id = id',
  invoices_kind: `kind = 'credit_note'`,
  invoices_numbered: 'full_number = NULL',
  invoices_positive_number: 'number = 0',
  invoices_reason: `reason = 'a new name'`,
  invoices_subject: 'subject_id = id',
  missing_operations_kind_check: `kind = 'gift'`,
  open_transactions_accepted_check: `slot = id, type = 'refund', cause = 'refund'`,
  open_transactions_amount_check: 'amount = 0',
  open_transactions_capture_never_waits: `cause = 'capture', state = 'waiting', waiting = true, waits_for = 'service'`,
  open_transactions_cause_check: `cause = 'gift'`,
  open_transactions_check: 'slot = order_id',
  open_transactions_check1: `slot = id, state = 'accepted'`,
  open_transactions_flags_check: 'in_doubt = true',
  open_transactions_state_check: `state = 'lost'`,
  open_transactions_type_check: `type = 'gift', cause = NULL`,
  open_transactions_waiting: `state = 'waiting', waiting = true, waits_for = 'service', type = 'refund', cause = 'refund'`,
  open_transactions_waits_check: `waits_for = 'service'`,
  open_transactions_waits_for_check: `state = 'waiting', waiting = true, waits_for = 'rain'`,
  open_transactions_with_customer: `customer_step = '\\x00'`,
  orders_authorized_at_most_total: 'authorized_amount = total + 1',
  orders_authentication_ends: `authentication_url = 'https://pay.example'`,
  orders_captured_at_most_authorized: 'authorized_amount = 100, captured_amount = 200',
  orders_check: 'subtotal = subtotal + 1',
  orders_check1: `status = 'failed', sale_id = NULL`,
  orders_check2: 'subscription_cycle = 2',
  orders_credit_applied: 'credit_applied = total + 1',
  orders_credit_refunded: 'credit_refunded = 1, refunded_amount = 1',
  orders_discount_amount_check: 'discount_amount = -1, subtotal = total - 1',
  orders_held_while_pending: 'authorized_amount = total, capture_before = now()',
  orders_of_change: 'subscription_change = 1',
  orders_refunded_amount_check: 'refunded_amount = -1',
  orders_refunded_at_most_captured: 'authorized_amount = total, captured_amount = 100, refunded_amount = 200',
  orders_refunded_at_most_total: 'refunded_amount = total + 1',
  orders_sale: 'sale_id = NULL',
  orders_status_check: `status = 'lost'`,
  orders_total_check: 'total = 1000000000001, subtotal = 1000000000101',
  payment_methods_exp_month_check: 'exp_month = 13',
  payment_methods_last4_check: `last4 = 'four'`,
  processor_connections_check: 'removed_at = now()',
  processor_connections_kind_check: `kind = 'gift'`,
  processor_connections_rejected_operation_check: `rejection = 'a test', rejected_operation = 'gift'`,
  processor_connections_rejection: `rejection = 'a test'`,
  processor_connections_request_life_ms_check: 'request_life_ms = 0',
  restores_check: 'reconciled_at = now()',
  restores_noticed_by_check: `noticed_by = 'chance'`,
  transactions_amount_check: 'amount = 0',
  transactions_check: `failure_code = 'unknown'`,
  transactions_status_check: `status = 'lost'`,
  transactions_type_check: `type = 'gift'`,
  unmatched_chargebacks_card_first6_check: `card_first6 = '4242'`,
  unmatched_chargebacks_card_last4_check: `card_last4 = '424242'`,
  unmatched_chargebacks_check: `state = 'matched'`,
  unmatched_chargebacks_state_check: `state = 'lost'`,
  voids_check: `failure_reason = 'declined'`,
};

const another = (): Row => ({ id: randomUUID(), order_number: randomUUID() });

function ofAnotherOrder(): Row {
  const id = randomUUID();
  return { id: randomUUID(), order_id: id, subject_id: id };
}

/** Copies of the row, with these changes; the last one is refused. */
const repeated: Readonly<Record<string, readonly Row[]>> = {
  card_setups_customer: [{ payment_method_id: randomUUID() }],
  card_setups_pkey: [{ customer_id: randomUUID() }],
  company_gates_pkey: [{}],
  credit_balances_pkey: [{}],
  credit_entries_once: [another()],
  disputes_processor_id: [another()],
  invoice_series_pkey: [{}],
  invoice_settings_pkey: [{}],
  invoices_full_number: [{ ...ofAnotherOrder(), number: 2 }],
  invoices_number: [{ ...ofAnotherOrder(), full_number: 'R-2' }],
  invoices_once: [{ id: randomUUID(), number: 2, full_number: 'R-2' }],
  missing_operations_pkey: [{}],
  open_transactions_pkey: [{ ...another(), reference: randomUUID() }],
  open_transactions_reference: [{ ...another(), order_id: randomUUID() }],
  orders_cycle: [1, 2].map(() => ({ ...another(), subscription_id, subscription_cycle: 2 })),
  orders_change: [1, 2].map(() => ({ ...another(), subscription_id, subscription_change: 3 })),
  orders_first_charge: [1, null].map((subscription_cycle) => ({ ...another(), subscription_id, subscription_cycle })),
  orders_number: [{ id: randomUUID() }],
  processor_connections_account: [{ ...another(), position: 2 }],
  processor_connections_position: [{ ...another(), account_id: 'acct_2' }],
  restores_open: [another()],
  scheduled_chargebacks_pkey: [{}],
  transactions_one_authorization: [1, 2].map(() => ({ ...another(), type: 'auth', reference: randomUUID() })),
  transactions_one_successful_sale: [{ ...another(), reference: randomUUID() }],
  transactions_reference: [{ ...another(), order_id: randomUUID() }],
  unmatched_chargebacks_processor_id: [another()],
  voids_one_approved: [{ ...another(), reference: randomUUID() }],
  voids_reference: [{ ...another(), order_id: randomUUID() }],
};

let database: TestDatabase;
let client: pg.Client;
before(async () => {
  database = await cloneDatabase(1);
  client = new pg.Client({ connectionString: database.connectionString });
  await client.connect();
  // Without triggers, which correct some of the rows, and without the rows that others refer to.
  await client.query('SET session_replication_role = replica');
  for (const [table, row] of Object.entries(rows)) {
    const values = Object.values(row);
    const places = values.map((_, index) => `$${index + 1}`).join(', ');
    await client.query(`INSERT INTO ${table} (${Object.keys(row).join(', ')}) VALUES (${places})`, values);
  }
});
after(async () => {
  await client.end();
  await database.drop();
});

/** The columns that are not computed from others. */
async function columnsOf(table: string): Promise<string> {
  const { rows: found } = await client.query<{ names: string }>(
    `SELECT string_agg(quote_ident(column_name), ', ') AS names FROM information_schema.columns
     WHERE table_schema = 'public' AND table_name = $1 AND is_generated = 'NEVER'`,
    [table],
  );
  return found[0]?.names ?? assert.fail(`no table ${table}`);
}

async function copyRow(table: string, changes: Row): Promise<void> {
  const names = await columnsOf(table);
  await client.query(
    `INSERT INTO ${table} (${names}) SELECT ${names} FROM (
       SELECT (jsonb_populate_record(r, $1)).* FROM ${table} r LIMIT 1) AS copy`,
    [JSON.stringify(changes)],
  );
}

const rules = await schemaMutants();

describe('the database refuses', () => {
  for (const { place: table, rule, kind } of rules) {
    const [name = ''] = rule.split(':');
    if (name in redundant) continue;
    it(`${kind === 'check' ? 'a row that breaks' : 'a second row because of'} ${name}`, async () => {
      await client.query('BEGIN');
      try {
        if (kind === 'check') {
          const change = client.query(`UPDATE ${table} SET ${broken[name] ?? assert.fail(`no row breaks ${rule}`)}`);
          await assert.rejects(change, { code: '23514', constraint: name });
          return;
        }
        const copies = repeated[name] ?? assert.fail(`no row repeats ${rule}`);
        for (const copy of copies.slice(0, -1)) await copyRow(table, copy);
        await assert.rejects(copyRow(table, copies.at(-1) ?? {}), { code: '23505', constraint: name });
      } finally {
        await client.query('ROLLBACK');
      }
    });
  }
});

it('lists of texts are single literals in the tables that each order writes', async () => {
  const { rows: found } = await client.query<{ name: string }>(
    `SELECT conname AS name FROM pg_constraint
     WHERE contype = 'c' AND conrelid = ANY ('{orders,transactions,open_transactions}'::regclass[])
       AND pg_get_constraintdef(oid) LIKE '%ARRAY[%'
     UNION ALL
     SELECT tgname FROM pg_trigger
     WHERE tgrelid = ANY ('{orders,transactions,open_transactions}'::regclass[]) AND pg_get_triggerdef(oid) LIKE '%ARRAY[%'`,
  );
  assert.deepEqual(found, []);
});
