/** The settings cannot be used; the message says which and what to do. */
export class ConfigurationError extends Error {}
