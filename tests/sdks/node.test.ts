import { startDriver } from './driver.ts';
import { nodeProgram } from './present.ts';
import { playAll } from './stage.ts';

/** The Node SDK plays every scenario. */

playAll(async () => startDriver('Node', nodeProgram.program, nodeProgram.parameters));
