/** `npm run sdks` installs what the SDKs are tested with. Otherwise only what is there already is used. */
export const mayInstall = process.env.SVC_SDKS === 'install';
