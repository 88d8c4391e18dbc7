/** What is used of WebAssembly. The types of Node leave it to those of browsers. */
declare namespace WebAssembly {
  function instantiate(bytes: Uint8Array): Promise<{ readonly instance: { readonly exports: unknown } }>;
}
