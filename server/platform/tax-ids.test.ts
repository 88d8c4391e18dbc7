import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { isTaxId, taxIdOf } from './tax-ids.ts';

describe('a tax ID', () => {
  it('has the form of its country, and is stored without the spaces and dots of people', () => {
    const given: readonly (readonly [string, string])[] = [
      ['DE 123 456 789', 'DE123456789'],
      ['atu12345678', 'ATU12345678'],
      ['CHE-123.456.789 MWST', 'CHE123456789MWST'],
      ['FR XX 999999999', 'FRXX999999999'],
      ['ESB12345678', 'ESB12345678'],
      ['ES12345678Z', 'ES12345678Z'],
      ['EL 123456789', 'EL123456789'],
      ['NL123456789B01', 'NL123456789B01'],
      ['IE1234567FA', 'IE1234567FA'],
      ['GB 123 4567 89', 'GB123456789'],
      ['BE0123456789', 'BE0123456789'],
      ['RO12', 'RO12'],
    ];
    for (const [text, stored] of given) assert.deepEqual([isTaxId(text), taxIdOf(text)], [true, stored], text);
  });

  it('of a country without a form stays as it was given', () => {
    for (const text of ['12-3456789', '12.345.678/0001-90', 'T1234567890123', '22AAAAA0000A1Z5', 'AU51824753556']) {
      assert.deepEqual([isTaxId(text), taxIdOf(text)], [true, text], text);
    }
  });

  it('that begins with the letters of a country by chance is not taken for one', () => {
    // Of a company in Mexico, of a person in Italy.
    for (const text of ['DEL010101AB1', 'FRNGPP80A01H501X']) assert.equal(isTaxId(text), true, text);
  });

  it('is refused in another form than that of its country, and if it is something else', () => {
    const wrong = ['DE12345678', 'DE1234567890', 'GR123456789', 'NL123456789', 'SE1234567890', 'CY12345678'];
    const others = [
      'none',
      '1',
      '',
      ' DE123456789',
      'evil.example/12',
      'https://12',
      '12\n34',
      '12--34',
      '１２３４',
      'a'.repeat(64),
    ];
    for (const text of [...wrong, ...others]) assert.equal(isTaxId(text), false, text);
  });
});
