/** A mistake of the person at the keyboard: shown as its message alone. */
export class CommandError extends Error {}
