'use strict';
// The first file of a release. It loads the bundled service with the bytecode that the build made of it, which halves the time
// to start. Another version of Node rejects the bytecode and compiles the files again. Unlike Node's own compile cache, this
// one needs no folder that the service can write to.
const { existsSync, readFileSync } = require('node:fs');
const { join } = require('node:path');
const vm = require('node:vm');

// Node warns at the first import() of a bundle, for example when a collector of OpenTelemetry is set. An operator cannot act on it.
const { emitWarning } = process;
process.emitWarning = (warning, ...rest) => {
  if (!String(warning).startsWith('vm.USE_MAIN_CONTEXT_DEFAULT_LOADER')) emitWarning.call(process, warning, ...rest);
};

const modules = new Map();

function load(name) {
  const known = modules.get(name);
  if (known) return known.exports;
  const filename = join(__dirname, name);
  const bytecode = `${filename}.bytecode`;
  const script = new vm.Script(
    `(function (exports, require, module, __filename, __dirname) {${readFileSync(filename, 'latin1')}\n})`,
    {
      filename,
      importModuleDynamically: vm.constants.USE_MAIN_CONTEXT_DEFAULT_LOADER,
      ...(existsSync(bytecode) && { cachedData: readFileSync(bytecode) }),
    },
  );
  if (script.cachedDataRejected && process.env.SVC_LOG_LEVEL === 'trace') {
    process.stderr.write(`${name}: the bytecode was made for another version of Node\n`);
  }
  const module = { exports: {} };
  modules.set(name, module);
  const requireFrom = (id) => (id.startsWith('./') ? load(id.slice(2)) : require(id));
  script.runInThisContext()(module.exports, requireFrom, module, filename, __dirname);
  return module.exports;
}

load('main.js');
