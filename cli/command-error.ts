/** An error that the user can fix. Only its message is shown. */
export class CommandError extends Error {}
