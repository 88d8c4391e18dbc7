import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { type CommandError, exitCodes } from './command-error.ts';
import { runCommand } from './run.ts';

describe('a mistake in a command of the API', () => {
  const mistakes: readonly (readonly [string[], RegExp])[] = [
    [['customers', 'lst'], /Unknown command "customers lst"\. Did you mean customers list\?/],
    [
      ['products', 'images', 'uplod', 'x'],
      /Unknown command "products images uplod"\. Did you mean products images upload\?/,
    ],
    [['customers', 'create', '--frist-name', 'Ada'], /no option --frist-name\. Did you mean --first-name\?/],
    [['customers', 'create', '--frist_name', 'Ada'], /no option --frist_name\. Did you mean --first-name\?/],
    [['payment-methods', 'capture', '--card.nubmer', '4'], /Did you mean --card\.number\?/],
    [['customers', 'create', '--nonsense', 'x'], /no option --nonsense\. `svc customers create --help` lists them/],
    [['customers', 'get'], /The CUSTOMER_ID is missing\. Use svc customers get CUSTOMER_ID\./],
    [['customers', 'get', '..'], /"\.\." is not an ID/],
    [['customers', 'get', 'a/b'], /"a\/b" is not an ID/],
    [['customers', 'get', 'a', 'b'], /Unexpected argument: b\. Usage: svc customers get CUSTOMER_ID\./],
    [['orders', 'refund', 'x', '--amount', '12.5'], /--amount must be a whole number, for example 4900, not "12\.5"/],
    [['orders', 'refund', 'x', '--amount', '99999999999999999'], /--amount must be a whole number/],
    [['orders', 'refund', 'x', '--amount', '1', '--amount', '2'], /Give --amount only once/],
    [['orders', 'refund', 'x', '--amount', '-5'], /--amount.*ambiguous/],
    [['products', 'update', 'x', '--active', 'yes'], /--active must be true or false, not "yes"/],
    [['orders', 'create', '--items', '[{oops'], /The value of --items is not valid JSON: /],
    [['orders', 'create', '--items', '{}'], /--items must be a JSON array/],
    [['orders', 'create', '--items', '@/nowhere.json'], /The file of --items cannot be read: ENOENT/],
    [['orders', 'create', '--items.1.quantity', '2'], /--items\.1\.quantity comes before position 0/],
    [['orders', 'create', '--metadata', '3'], /--metadata must be a JSON object/],
    [['customers', 'create', '-d', '[1]', '--email', 'x'], /-d must be a JSON object/],
    [['products', 'images', 'upload', 'x'], /The file is missing\. Name it with --file/],
    [['trigger', 'order.failed', '--override', 'total'], /--override must be a field and a value/],
    [['trigger', 'order.failed', '--override', 'a=1', '--override', 'a.b=1'], /--override a\.b only once/],
    [['plans', 'list', '--company', 'demo', '--all'], /svc plans list has no option --all/],
  ];
  for (const [words, hint] of mistakes) {
    test(`is explained: ${words.join(' ')}`, async () => {
      const target = ['--base-url', '127.0.0.1:1', '--key', 'svc_test_sk_x'];
      await assert.rejects(
        runCommand([...words, ...(words[1] === 'lst' || words.includes('--company') ? [] : target)]),
        (error: CommandError) => {
          assert.match(error.message, hint);
          assert.equal(error.exitCode, exitCodes.usage[0]);
          return true;
        },
      );
    });
  }
});

describe('the help of a command of the API', () => {
  test('lists its fields with their values, and its options', async () => {
    const help = await runCommand(['orders', 'create', '--help']);
    assert.match(help, /^svc orders create: Create an order and charge it\.\n\nSends POST \/v1\/orders\.\n/);
    assert.match(help, /^ {2}--items\.0\.quantity N/m);
    assert.match(help, /^ {2}--metadata JSON\|@FILE, --metadata\.NAME TEXT/m);
    assert.match(help, /^ {2}--idempotency-key KEY/m);
    assert.match(await runCommand(['coupons', '--help']), /svc coupons codes mint COUPON_ID/);
    assert.match(await runCommand(['help', 'coupons', 'create']), /--duration once\|repeating\|forever/);
  });

  test('is found with underscores too', async () => {
    assert.match(
      await runCommand(['webhook_endpoints', 'rotate_secret', '--help']),
      /^svc webhook-endpoints rotate-secret WEBHOOK_ENDPOINT_ID/,
    );
  });

  test('of a name with two commands describes the one that is chosen by --company', async () => {
    assert.match(await runCommand(['plans', 'list', '--help']), /GET \/v1\/plans/);
    assert.match(await runCommand(['plans', 'list', '--company', 'demo', '--help']), /List the plans of a company/);
  });
});
