'use strict';
// `node bytecode.cjs FOLDER`: writes the bytecode of every script in a folder beside it. With the seeds that `bytecode.ts`
// sets, two runs write the same bytes.
const { readdirSync, readFileSync, writeFileSync } = require('node:fs');
const { join } = require('node:path');
const v8 = require('node:v8');
const vm = require('node:vm');

const folder = process.argv[2];
for (const name of readdirSync(folder).filter((each) => each.endsWith('.js'))) {
  const file = join(folder, name);
  const text = `(function (exports, require, module, __filename, __dirname) {${readFileSync(file, 'latin1')}\n})`;
  // All functions, not only those that run while a file is loaded.
  v8.setFlagsFromString('--no-lazy');
  const script = new vm.Script(text, { filename: name });
  v8.setFlagsFromString('--lazy');
  writeFileSync(`${file}.bytecode`, script.createCachedData());
}
