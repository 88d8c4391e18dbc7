/** What other features use of the sandbox. */
export { passHistory } from './clock.ts';
