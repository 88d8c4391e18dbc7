declare module 'linebreak' {
  /** The line breaking algorithm of Unicode. */
  export default class LineBreaker {
    constructor(text: string);
    nextBreak(): { readonly position: number; readonly required: boolean } | null;
  }
}
