import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { addressBucket, addressBytes, isAddressRange, isLoopback, withinRanges } from './addresses.ts';

const hex = (text: string): string | undefined => addressBytes(text)?.toString('hex');

describe('the bytes of an address', () => {
  const spellings: Record<string, readonly string[]> = {
    '0a010203': [
      '10.1.2.3',
      '::ffff:10.1.2.3',
      '::FFFF:10.1.2.3',
      '::ffff:a01:203',
      '::ffff:0A01:0203',
      '0:0:0:0:0:ffff:a01:203',
      '0000:0000:0000:0000:0000:ffff:0a01:0203',
      '0::0:ffff:10.1.2.3',
      '::ffff:10.1.2.3%eth0',
    ],
    '0000000000000000000000000a010203': ['::10.1.2.3', '::a01:203', '0:0::10.1.2.3', '0:0:0:0:0:0:a01:203'],
    '0000000000000000ffff00000a010203': ['::ffff:0:10.1.2.3', '::ffff:0:a01:203'],
    '00000000000000000000000000000001': ['::1', '0:0:0:0:0:0:0:1', '::0001', '::0.0.0.1', '::1%lo'],
    '00000000000000000000000000000000': ['::', '0::', '::0', '0:0:0:0:0:0:0:0', '::0.0.0.0'],
    fe800000000000000000000000000001: ['fe80::1', 'FE80::1', 'fe80::1%eth0', 'fe80:0:0::0:1%1', 'fe80::0.0.0.1'],
    '20010db8000100020003000400050006': ['2001:db8:1:2:3:4:5:6', '2001:0DB8:0001:0002:0003:0004:0005:0006'],
    '20010db8000100000000000000000000': ['2001:db8:1::', '2001:db8:1:0::0'],
    '0064ff9b00000000000000000a010203': ['64:ff9b::10.1.2.3', '64:ff9b::a01:203'],
    '20020a01020300000000000000000001': ['2002:a01:203::1', '2002:0a01:0203:0:0:0:0:1'],
  };
  it('are the same for every spelling', () => {
    for (const [bytes, texts] of Object.entries(spellings))
      for (const text of texts) assert.equal(hex(text), bytes, text);
  });

  it('do not exist for what programs read differently, or is no address', () => {
    const texts = ['', '10', '10.1', '0x0a.1.2.3', '010.1.2.3', '10.1.2.03', '10.1.2.256', '10.1.2.3:80', ' 10.1.2.3'];
    for (const text of [...texts, '[::1]', ':::', '1::2::3', '::10.1.2', '::g', '12345::', 'localhost', 'unknown']) {
      assert.equal(hex(text), undefined, text);
    }
  });
});

describe('a range', () => {
  const isWithin = (range: string, address: string): boolean => withinRanges([range])(address);

  it('contains addresses of its own kind, to the bit', () => {
    assert.ok(isWithin('10.1.2.0/23', '10.1.3.255'));
    assert.ok(!isWithin('10.1.2.0/23', '10.1.4.0'));
    assert.ok(isWithin('10.1.2.3/31', '10.1.2.2'));
    assert.ok(isWithin('0.0.0.0/0', '255.255.255.255'));
    assert.ok(isWithin('2001:db8::/33', '2001:db8:7fff::1'));
    assert.ok(!isWithin('2001:db8::/33', '2001:db8:8000::1'));
    assert.ok(isWithin('::/0', '::10.1.2.3'));
    assert.ok(!isWithin('::/0', '10.1.2.3'));
    assert.ok(!isWithin('0.0.0.0/0', '::1'));
  });

  it('of IPv4 contains mapped addresses, and no other IPv6 address', () => {
    for (const address of ['::ffff:10.1.2.3', '::FFFF:A01:203']) assert.ok(isWithin('10.0.0.0/8', address), address);
    for (const range of ['::ffff:10.0.0.0/104', '::ffff:a00:0/104']) assert.ok(isWithin(range, '10.1.2.3'), range);
    for (const address of ['::10.1.2.3', '::a01:203', '64:ff9b::a01:203', '2002:a01:203::']) {
      assert.ok(!isWithin('10.0.0.0/8', address), address);
    }
    assert.ok(!isWithin('::10.0.0.0/104', '10.1.2.3'));
  });

  it('is rejected if it is not one', () => {
    for (const text of ['10.0.0.0/33', '::/129', '10.0.0.0/', '10.0.0.0/-1', '10.0.0.0/8/8', '10/8', '/8', '::/0x1']) {
      assert.equal(isAddressRange(text), false, text);
      assert.equal(isWithin(text, '10.1.2.3'), false, text);
    }
  });
});

it('addresses of one client share a bucket, and those of others never do', () => {
  assert.equal(addressBucket('::ffff:a01:203'), addressBucket('10.1.2.3'));
  assert.equal(addressBucket('2001:db8:1:2::9'), addressBucket('2001:DB8:0001:2:ffff::%eth0'));
  assert.notEqual(addressBucket('::10.1.2.3'), addressBucket('10.1.2.3'));
  assert.notEqual(addressBucket('2001:db8:1:3::9'), addressBucket('2001:db8:1:2::9'));
  assert.equal(addressBucket('010.1.2.3'), addressBucket('unknown'));
});

it('only the loopback addresses of each kind are loopback', () => {
  for (const address of ['127.0.0.1', '127.255.0.1', '::1', '0:0::1', '::ffff:127.0.0.1', '::ffff:7f00:1']) {
    assert.ok(isLoopback(address), address);
  }
  for (const address of ['::127.0.0.1', '::7f00:1', '128.0.0.1', '64:ff9b::7f00:1', '2002:7f00:1::', 'localhost']) {
    assert.ok(!isLoopback(address), address);
  }
});
