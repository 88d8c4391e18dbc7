import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { operations } from '../../sdk/generator/document.ts';
import { startWorld, type World } from '../generators/world.ts';
import { callEverything } from './every-operation.ts';
import { startDriver } from './driver.ts';
import { drivers } from './present.ts';

/** Each SDK calls every operation of the OpenAPI document on a running service, with parameters of its own types. */

const present = await drivers();

describe('every operation of the OpenAPI document', () => {
  let world: World;
  before(async () => {
    world = await startWorld();
  });
  after(() => world.stop());

  for (const [name, { program, parameters, env }] of present) {
    it(`is called by ${name}, and its answer is understood`, async () => {
      await world.renew();
      const driver = startDriver(name, program, parameters, { env });
      try {
        const called = await callEverything(driver, world.env);
        assert.equal(called.size, operations.length);
        world.checkAllCalled();
        process.stdout.write(`${called.size} operations by ${name}\n`);
      } finally {
        await driver.stop();
      }
    });
  }
});
