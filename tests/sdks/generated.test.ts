import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { operations } from '../../sdk/generator/document.ts';
import { outdatedIn } from '../../sdk/generator/files.ts';
import { methodNames } from '../../sdk/generator/names.ts';
import { generatedGo, samplesPath, withoutColumns } from '../../sdk/go/generate.ts';
import { samplesFile, samplesProgram } from '../../sdk/go/generator/samples.ts';
import { generatedPython } from '../../sdk/python/generate.ts';
import { scenarios } from './scenarios.ts';

/** What can be said of all SDKs without Python and Go. */

describe('the generated parts of the SDKs', () => {
  it('match the OpenAPI document in Python', () => {
    assert.deepEqual(outdatedIn(generatedPython()), [], 'run: node sdk/python/generate.ts');
  });

  it('match the OpenAPI document in Go', () => {
    const { folder, files } = generatedGo();
    const plain = (text: string): string => withoutColumns(text);
    const outdated = [...files].filter(
      ([name, text]) => plain(readFileSync(join(folder, name), 'utf8')) !== plain(text),
    );
    assert.deepEqual(
      outdated.map(([name]) => name),
      [],
      'run: node sdk/go/generate.ts',
    );
  });

  it('match the examples of the OpenAPI document in the samples for Go', () => {
    const plain = (text: string): string[] =>
      Object.values(JSON.parse(text) as Record<string, string>).map((code) =>
        withoutColumns(code.replaceAll(/\n+/g, '\n')),
      );
    assert.deepEqual(
      plain(readFileSync(samplesPath, 'utf8')),
      plain(samplesFile(samplesProgram())),
      'run: node sdk/go/generate.ts',
    );
  });

  it('have a method for every operation', () => {
    assert.deepEqual(
      operations.map(({ id }) => id).filter((id) => methodNames[id] === undefined),
      [],
    );
  });
});

describe('the table of the SDKs', () => {
  const guide = readFileSync(new URL('../../docs/sdks.md', import.meta.url), 'utf8');

  it('names every scenario, and no other', () => {
    const [, list = ''] = guide.split('## What every SDK is tested for');
    const named = [...list.matchAll(/^- (.+)\.$/gm)].map(([, name]) => name);
    assert.deepEqual(
      named,
      scenarios.map(({ name }) => `${name[0]?.toUpperCase()}${name.slice(1)}`),
    );
  });
});
