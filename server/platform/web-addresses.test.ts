import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { greetingFor } from '../greeting.ts';
import { hasLink } from './web-addresses.ts';

const people = [
  'Ada',
  'J. R. R. Tolkien',
  'J.R.R.',
  'Dr. Ada',
  'St. John',
  'Ada Lovelace Jr.',
  "O'Neil",
  'O’Neil',
  '李小龙',
  '约翰·史密斯',
  'ジョン・スミス',
  'Müller-Lüdenscheidt',
  'Gal·la',
  'محمد',
  // With the non-joiner that Persian needs.
  'علی\u200cرضا',
  'क्\u200dष',
  'Louis XIV',
  'Agent 007',
  'Dot',
  'Ada and Grace',
  'Ph.D. Ada',
];

const links = [
  'Win at evil.example/x',
  'https://evil.example',
  'HTTPS://evil',
  '//evil',
  'www.evil.example',
  'evil.example:8080',
  'evil.example?a',
  'evil[.]example/x',
  'evil (dot) example/x',
  'evil dot example/x',
  'evil。example/x',
  'evil．example/x',
  'ｅｖｉｌ.ｅｘａｍｐｌｅ/x',
  'ev\u200bil.exam\u00adple/x',
  '𝐞𝐯𝐢𝐥.𝐞𝐱𝐚𝐦𝐩𝐥𝐞/x',
  'böse.example/x',
  '例え.テスト/x',
  'ada@evil.example',
  'ada [at] evil.example',
  'mailto:ada',
  'javascript:alert(1)',
  'Ada\u202eelpmaxe.live',
  'Ada\nVisit us',
  'Ada\u2066x',
];

const addresses = [
  'Win at evil.example',
  'evil.example',
  'evil[.]example',
  'evil。example',
  'evil．example',
  'evil｡example',
  'ｅｖｉｌ．ｅｘａｍｐｌｅ',
  'ev\u200bil.\u200bexample',
  'xn--bse-sna.example',
  'böse.example',
  '例え.テスト',
  'xn--bse-sna',
  '@evil',
  'ada@home',
  '203.0.113.7',
  '+1 555 123 4567',
  '٠٥٥٥١٢٣٤٥٦٧',
  'signal:evil',
];

describe('a name that a stranger typed', () => {
  it('greets a person by the name', () => {
    for (const name of people) {
      assert.equal(greetingFor(name), `Hello ${name},`);
      assert.equal(hasLink(name), false, name);
    }
  });

  it('greets without a name that reads like an address, a link or a phone number', () => {
    for (const name of [...links, ...addresses]) assert.equal(greetingFor(name), 'Hello,', name);
    for (const name of [undefined, '', '  ']) assert.equal(greetingFor(name), 'Hello,');
  });

  it('contains a link for certain only if a mail program would lead somewhere', () => {
    for (const name of links) assert.equal(hasLink(name), true, name);
    for (const name of ['Booking.com B.V.', 'St.John', 'Acme: Tools', 'A/S Dampskib']) {
      assert.equal(hasLink(name), false, name);
    }
  });
});
