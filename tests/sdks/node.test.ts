import { fileURLToPath } from 'node:url';
import { startDriver } from './driver.ts';
import { playAll } from './stage.ts';

/** The Node SDK plays every scenario. */

const program = fileURLToPath(new URL('node-driver.ts', import.meta.url));

playAll(async () => startDriver('Node', process.execPath, ['--disable-warning=ExperimentalWarning', program]));
