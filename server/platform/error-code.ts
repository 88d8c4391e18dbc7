/** Returns the code that Node or PostgreSQL assigned to an error, such as `ENOENT` or `28P01`. */
export function errorCode(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : undefined;
}
