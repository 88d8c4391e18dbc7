import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { test } from 'node:test';
import { isPhone, withCountryCode } from '../../pages/checkout/phone.ts';
import { sha256, solveProof } from '../../pages/checkout/proof.ts';
import { brandColors } from '../../pages/shared/colors.ts';

/** The parts of the pages for customers that need no browser. */

function luminance(color: string): number {
  const [red, green, blue] = [1, 3, 5]
    .map((at) => Number.parseInt(color.slice(at, at + 2), 16) / 255)
    .map((part) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4)) as [number, number, number];
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

function contrast(one: string, other: string): number {
  const [darker = 0, lighter = 0] = [luminance(one), luminance(other)].toSorted((a, b) => a - b);
  return (lighter + 0.05) / (darker + 0.05);
}

test('text on the color of a merchant, and text in that color, is readable for every color', () => {
  const parts = ['00', '33', '66', '80', '99', 'cc', 'ff'];
  const colors = parts.flatMap((red) => parts.flatMap((green) => parts.map((blue) => `#${red}${green}${blue}`)));
  for (const color of colors) {
    const made = brandColors(color);
    const at = (name: string): string => made[name] ?? '';
    assert.equal(at('--brand'), color);
    assert.ok(contrast(at('--on-brand'), color) >= 4.5, `text on ${color}`);
    assert.ok(contrast(at('--accent-on-light'), '#ffffff') >= 4.45, `${color} on light`);
    assert.ok(contrast(at('--accent-on-dark'), '#151a23') >= 4.45, `${color} on dark`);
  }
});

test('what is no color changes nothing', () => {
  for (const text of ['', 'red', '#fff', 'url(//example.com)', '#12345g']) assert.deepEqual(brandColors(text), {});
});

test('a phone number gets the country code of its country, and keeps one that it has', () => {
  for (const [typed, country, expected] of [
    ['(555) 123-4567', 'US', '+1 (555) 123-4567'],
    ['1 555 123 4567', 'US', '+15551234567'],
    ['030 123456', 'DE', '+49 30 123456'],
    ['06 1234 5678', 'IT', '+39 06 1234 5678'],
    ['0049 30 123456', 'US', '+49 30 123456'],
    ['+44 20 7946 0958', 'US', '+44 20 7946 0958'],
    ['5551234567', 'ZZ', '5551234567'],
    ['5551234567', '', '5551234567'],
    ['12', 'US', '12'],
  ] as const) {
    assert.equal(withCountryCode(typed, country), expected);
  }
  assert.ok(isPhone('+1 (555) 123-4567'));
  for (const wrong of ['', '5551234567', '+0551234567', '+1', '+1 555 123 4567 ext 2'])
    assert.ok(!isPhone(wrong), wrong);
});

test('the proof of work is the first number with the leading zeros, by the SHA-256 of Node', () => {
  const hash = (text: string): Buffer => createHash('sha256').update(text).digest();
  for (const length of [0, 1, 55, 56, 63, 64, 65, 119, 120, 200]) {
    const text = 'x'.repeat(length);
    const words = sha256(text);
    const bytes = Buffer.alloc(32);
    words.forEach((word, index) => bytes.writeUInt32BE(word, index * 4));
    assert.deepEqual(bytes, hash(text), `length ${length}`);
  }
  const answer = Number(solveProof('challenge', 12));
  const hasZeros = (number: number): boolean => hash(`challenge.${number}`).readUInt32BE() >>> 20 === 0;
  assert.ok(hasZeros(answer));
  for (let earlier = 0; earlier < answer; earlier += 1) assert.ok(!hasZeros(earlier));
});
