import { registerHooks } from 'node:module';

/** Loaded before the tests: changes a source as it is read, so that no file changes. */

const { SVC_MUTANT } = process.env;
if (SVC_MUTANT) {
  const { url, start, end, text } = JSON.parse(SVC_MUTANT) as { url: string; start: number; end: number; text: string };
  registerHooks({
    load(target, context, nextLoad) {
      const loaded = nextLoad(target, context);
      if (target.split('?')[0] !== url || !loaded.source) return loaded;
      const source = Buffer.from(loaded.source as Uint8Array).toString();
      return { ...loaded, source: source.slice(0, start) + text + source.slice(end) };
    },
  });
}
