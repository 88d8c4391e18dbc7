import packageJson from '../package.json' with { type: 'json' };

/** The version of this program, for logs, metrics and `svc status`. */
export const { version } = packageJson;
