/** A setting is invalid; the message names the setting and says what to do. */
export class ConfigurationError extends Error {}

/** The exit code for it, EX_CONFIG of sysexits.h: a service manager need not try again. */
export const wrongSettingsCode = 78;
