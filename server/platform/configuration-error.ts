/** A setting is invalid; the message names the setting and says what to do. */
export class ConfigurationError extends Error {}
