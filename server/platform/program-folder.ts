/**
 * The folder of the program, in which its files are: migrations, guides, pages. A release bundles the code into
 * `server/bundle`, which is as deep as this folder, so that the same path works there.
 */
export const programFolder = new URL('../../', import.meta.url);
