import { loadConfig } from '../server/config.ts';
import { originsOf } from '../server/start/vault.ts';
import { checkConfiguration, ConfigurationProblem } from '../server/vault/processors/kind.ts';
import { recordStory } from '../server/vault/processors/story.ts';
import { CommandError } from './command-error.ts';
import type { Flags } from './options.ts';
import { configurationFrom, kindOf } from './processors.ts';

/** `processors record`: what a test account answers to the calls of the product, without what identifies anyone. */
export async function recordCommand(_: readonly string[], flags: Flags): Promise<string> {
  const kind = kindOf(flags.processor ?? 'acquirer');
  const configuration = await configurationFrom(kind.kind, flags);
  try {
    const options = { timeoutMs: kind.timeoutMs, extraOrigins: originsOf(loadConfig(process.env)) };
    const processor = kind.open(checkConfiguration(kind, configuration), options);
    const tested = await processor.test?.();
    if (tested?.outcome === 'fails') throw new CommandError(tested.problem);
    // An acquirer does not say which it is: its operator does.
    if (tested?.livemode === true && kind.kind !== 'acquirer')
      throw new CommandError('This is a live account. Only test accounts are recorded.');
    return `${JSON.stringify(await recordStory(kind, processor, configuration), null, 2)}\n`;
  } catch (error) {
    throw error instanceof ConfigurationProblem ? new CommandError(`${error.field} ${error.message}.`) : error;
  }
}
