/** The number of letters to change, add or remove, or to swap with the next one, to turn one text into the other. */
function distance(from: string, to: string): number {
  let before: number[] = [];
  let row = Array.from({ length: to.length + 1 }, (_, index) => index);
  for (const [at, letter] of [...from].entries()) {
    const next = [at + 1];
    for (let column = 1; column <= to.length; column += 1) {
      const replaced = (row[column - 1] ?? 0) + (letter === to[column - 1] ? 0 : 1);
      const isSwapped = letter === to[column - 2] && from[at - 1] === to[column - 1];
      const swapped = isSwapped ? (before[column - 2] ?? Infinity) + 1 : Infinity;
      next.push(Math.min(replaced, swapped, (row[column] ?? 0) + 1, (next[column - 1] ?? 0) + 1));
    }
    before = row;
    row = next;
  }
  return row[to.length] ?? 0;
}

/** The most similar known word, if it is similar enough. */
export function closest(word: string, known: readonly string[]): string | undefined {
  const ranked = known
    .map((name) => ({ name, away: name.startsWith(word) ? 0 : distance(word, name) }))
    .toSorted((left, right) => left.away - right.away);
  const [best] = ranked;
  return best && best.away <= Math.max(1, Math.floor(word.length / 3)) ? best.name : undefined;
}

/** ` Did you mean …?`, or nothing. */
export function suggestion(word: string, known: readonly string[], prefix = ''): string {
  const meant = closest(word, known);
  return meant ? ` Did you mean ${prefix}${meant}?` : '';
}
