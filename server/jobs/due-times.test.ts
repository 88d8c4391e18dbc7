import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { examine } from '../../cli/doctor.ts';
import { startReceiver } from '../../tests/support/receiver.ts';
import { countOf, openShop, order, succeeded } from '../../tests/support/orders.ts';
import { recordedTables } from '../../tests/support/schema.ts';
import type { TestService } from '../../tests/support/service.ts';
import { silentLog } from '../../tests/support/silent-log.ts';
import { dispatchFor, eventually, newSubscriber, startWebhookService } from '../../tests/support/webhooks.ts';
import { mailedTypes } from '../features/customer-emails/occasions.ts';
import { findEventsAfter } from '../features/customer-emails/queries.ts';
import { readDays } from '../features/figures/queries.ts';
import { bringBackDueTimes } from './bring-back.ts';
import { dueTimes, otherPlaces, otherTimes, readPlaces } from './due-times.ts';

/** Rows that were written while the clock of the database was a day ahead, and rows that wait as long as they should. */

let service: TestService;

before(async () => {
  service = await startWebhookService();
});
after(() => service.stop());

const bringBack = (): Promise<number> => bringBackDueTimes(service.db, silentLog, 500);

async function lateRows(): Promise<string[]> {
  const found = (await examine(service.db)).find(({ check }) => check === 'due_too_late');
  return found?.examples.map((example) => example.split(' / ')[1] ?? '') ?? [];
}

async function minutesAhead(table: string, column: string, condition = 'true'): Promise<number> {
  const [row] = await service.db.query<{ minutes: number }>(
    `SELECT round(extract(epoch FROM ${column} - now()) / 60)::float8 AS minutes FROM ${table} WHERE ${condition}`,
  );
  assert.ok(row);
  return row.minutes;
}

it('each time of the schema that can be in the future has a furthest value or a reason not to have one', async () => {
  const named = (await recordedTables())
    .flatMap(({ name: table, text }) => {
      const columns = [...text.matchAll(/^ {2}(\w+) timestamp with time zone/gm)].map(([, column = '']) => column);
      return columns
        .filter((column) => /due|next|check|until|seen|polled|leased|locked|expires|refused/.test(column))
        .map((column) => `${table}.${column}`);
    })
    .filter((name) => !/_default\./.test(name));
  const known = [...dueTimes.map(({ table, column }) => `${table}.${column}`), ...Object.keys(otherTimes)];
  assert.deepEqual(named.toSorted(), known.toSorted());
});

it('each place of the schema up to which objects were read is brought back, or has a reason not to be', async () => {
  const named = (await recordedTables()).flatMap(({ name, text }) => {
    const columns = text.matchAll(/^ {2}(\w*(?:after|until|cursor)\w*) uuid/gm);
    return [...columns].map(([, column = '']) => `${name}.${column}`);
  });
  const places = readPlaces.flatMap(({ table, ids }) => ids.map((id) => `${table}.${id}`));
  assert.deepEqual(named.toSorted(), [...places, ...Object.keys(otherPlaces)].toSorted());
});

describe('after the clock of the database was 25 hours ahead', () => {
  it('emails and the index of orders go on with what happens now', async () => {
    const shop = await openShop(service);
    const company = service.company.id;
    const search = async (): Promise<string[]> => {
      const { body } = await service.call('GET', `/v1/orders?product_id=${shop.productId}`);
      return body.data.map(({ id }: { id: string }) => id);
    };
    const later = `first_id(now() + interval '25 h')`;
    await service.db.query(
      `INSERT INTO email_cursors (company_id, after_id, after_at) VALUES ($1, ${later}, now() + interval '25 h')`,
      [company],
    );
    await service.db.query(
      `UPDATE order_index_cursors SET after_id = ${later}, until_id = ${later} WHERE company_id = $1`,
      [company],
    );
    const { id } = await succeeded(service, shop);
    assert.deepEqual(await search(), [], 'the index is taken to have the order');
    assert.deepEqual(await lateRows(), ['email_cursors.after_id', 'order_index_cursors.after_id']);

    await bringBack();
    assert.deepEqual(await lateRows(), []);
    assert.deepEqual(await search(), [id]);
    const events = await findEventsAfter(
      service.db,
      await service.db.query('SELECT company_id, after_id FROM email_cursors WHERE company_id = $1', [company]),
      mailedTypes,
      { count: 10, openSeconds: 300 },
    );
    assert.ok(events.length > 0);
    // Places that are right stay where they are.
    const places = (): Promise<object[]> =>
      service.db.query('SELECT * FROM email_cursors NATURAL JOIN (SELECT company_id FROM order_index_cursors) i');
    const before = await places();
    await bringBack();
    assert.deepEqual(await places(), before);
  });

  it('a day whose sums were made before its end counts what happens until then', async () => {
    const shop = await openShop(service);
    const company = service.company.id;
    const [{ zone, day } = { zone: '', day: '' }] = await service.db.query<{ zone: string; day: string }>(
      'SELECT time_zone AS zone, day_at(now(), time_zone)::text AS day FROM companies WHERE id = $1',
      [company],
    );
    const payments = async (): Promise<unknown> =>
      (await readDays(service.db, company, zone, { from: day, to: day }))[0]?.figures['usd']?.['payments'];
    await succeeded(service, shop);
    const before = Number(await payments());
    assert.ok(before > 0);
    const [starts, ends] = [`($2::date::timestamp AT TIME ZONE $3)`, `(($2::date + 1)::timestamp AT TIME ZONE $3)`];
    await service.db.query(
      `INSERT INTO figure_days (company_id, zone, day, starts_at, ends_at, due_at, figures)
       VALUES ($1, $3, $2::date, ${starts}, ${ends}, now(), figures_between($1, ${starts}, ${ends}))`,
      [company, day, zone],
    );
    await service.db.query(
      `UPDATE figure_states SET zone = $3, clock_offset_ms = 0, days_until = ${ends} WHERE company_id = $1`,
      [company, day, zone],
    );
    await succeeded(service, shop);
    assert.equal(await payments(), before, 'the sums are taken to be complete');
    assert.deepEqual(await lateRows(), ['figure_states.days_until']);

    await bringBack();
    assert.deepEqual(await lateRows(), []);
    assert.equal(await payments(), before + 1);
    assert.equal(await countOf(service, 'figure_states', 'company_id = $1 AND days_until <= now()', [company]), 1);
  });

  it('an event is delivered, and one that waits by its schedule still waits', async (t) => {
    const receiver = await startReceiver();
    t.after(() => receiver.stop());
    const subscriber = await newSubscriber(service);
    await subscriber.subscribe(receiver.url);
    for (let count = 0; count < 4; count += 1) await subscriber.happen();
    const ids = await service.db.query<{ event_id: string }>(
      'SELECT event_id FROM webhook_deliveries WHERE company_id = $1 ORDER BY event_id',
      [subscriber.company.id],
    );
    assert.equal(ids.length, 4);
    const rows = ids.map(({ event_id }) => `company_id = '${subscriber.company.id}' AND event_id = '${event_id}'`);
    const write = (row: string | undefined, change: string): Promise<unknown> =>
      service.db.query(`UPDATE webhook_deliveries SET ${change} WHERE ${row}`);
    await write(rows[0], `next_attempt_at = now() + interval '25 h'`);
    // The third attempt failed by the wrong clock.
    await write(
      rows[1],
      `attempts = 3, last_attempt_at = now() + interval '25 h', next_attempt_at = now() + interval '25.5 h'`,
    );
    // These wait by their schedule, and because the receiver asked for it.
    await write(
      rows[2],
      `attempts = 9, last_attempt_at = now() - interval '1 h', next_attempt_at = now() + interval '27 h'`,
    );
    await write(rows[3], `attempts = 1, last_attempt_at = now(), next_attempt_at = now() + interval '24 h'`);
    assert.deepEqual(
      (await lateRows()).filter((row) => row.startsWith('webhook_deliveries')).length,
      2,
      'doctor reports both',
    );

    await bringBack();
    assert.deepEqual(await lateRows(), []);
    const minutes = await Promise.all(rows.map((row) => minutesAhead('webhook_deliveries', 'next_attempt_at', row)));
    assert.deepEqual(minutes.slice(1), [30, 27 * 60, 24 * 60]);
    const dispatcher = dispatchFor(service);
    t.after(() => dispatcher.stop());
    await eventually('the event arrives', async () => receiver.received.length === 1);
  });

  it('a delivery that waits by the clock of its sandbox still waits', async () => {
    const subscriber = await newSubscriber(service);
    await subscriber.later(48 * 3_600_000);
    await subscriber.subscribe('https://127.0.0.1:1/');
    await subscriber.happen();
    const row = `company_id = '${subscriber.company.id}'`;
    const before = await minutesAhead('webhook_deliveries', 'next_attempt_at', row);
    assert.ok(before > 47 * 60);
    await bringBack();
    assert.equal(await minutesAhead('webhook_deliveries', 'next_attempt_at', row), before);
  });

  it('mails, operations in doubt and claims of ended workers are looked at again', async () => {
    const ahead = `now() + interval '25 h'`;
    await order(service, await openShop(service, '4000000000000002'));
    await service.db.query(`INSERT INTO workers (id, seen_at) VALUES (uuidv7(), ${ahead})`);
    await service.db.query(
      `INSERT INTO open_transactions (company_id, order_id, slot, id, customer_id, payment_method_id, type, amount, currency,
         card_brand, card_last4, updated_at, valid_until, locked_until, next_check_at)
       SELECT company_id, id, '00000000-0000-0000-0000-000000000000', uuidv7(), customer_id, payment_method_id, 'sale',
         total, currency, card_brand, card_last4, now(), ${ahead}, ${ahead}, ${ahead}
       FROM orders WHERE status = 'failed' LIMIT 1`,
    );
    await service.db.query(
      `INSERT INTO mails (company_id, id, recipient, subject, body, next_attempt_at, attempts)
       SELECT id, uuidv7(), 'ada@example.com', 'Hello', 'Hello', ${ahead}, 2 FROM companies LIMIT 1`,
    );
    const late = (await lateRows())
      .map((row) => row.split(' ', 1).join(''))
      .toSorted((one, other) => one.localeCompare(other));
    assert.deepEqual(late, [
      'mails.next_attempt_at',
      'open_transactions.locked_until',
      'open_transactions.next_check_at',
      'workers.seen_at',
    ]);
    await bringBack();
    assert.deepEqual(await lateRows(), []);
    assert.equal(await minutesAhead('workers', 'seen_at'), 0);
    assert.equal(await minutesAhead('mails', 'next_attempt_at', 'attempts = 2'), 5);
    assert.ok((await minutesAhead('open_transactions', 'next_check_at')) <= 5);
    // The processor may execute the operation until then.
    assert.equal(await minutesAhead('open_transactions', 'valid_until'), 25 * 60);
  });
});
