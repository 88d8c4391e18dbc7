/** The version of the API that handlers know. */
export const latestVersion = '2026-02-11';
