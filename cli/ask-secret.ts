import { CommandError } from './command-error.ts';

const interrupted = '\u0003';
const ended = '\u0004';
const isErase = (letter: string): boolean => letter === '\u007f' || letter === '\b';

/** Reads a line from the terminal without showing it. */
export async function askSecret(question: string): Promise<string> {
  const { stdin, stderr } = process;
  // Before the question, so that no key pressed after it is shown.
  stdin.setRawMode(true);
  stderr.write(question);
  try {
    return await readLine(stdin);
  } finally {
    stdin.setRawMode(false);
    stdin.pause();
    stderr.write('\n');
  }
}

function readLine(stdin: NodeJS.ReadStream): Promise<string> {
  return new Promise((resolve, reject) => {
    let typed = '';
    const finish = (end: () => void): void => {
      stdin.off('data', take).off('end', leave);
      end();
    };
    const leave = (): void => finish(() => resolve(typed));
    // What is pasted arrives in one piece.
    const take = (piece: string): void => {
      for (const letter of piece) {
        if (letter === interrupted) return finish(() => reject(new CommandError('Canceled. Nothing was saved.')));
        if (letter === '\r' || letter === '\n' || letter === ended) return leave();
        typed = isErase(letter) ? typed.slice(0, -1) : typed + letter;
      }
    };
    stdin.setEncoding('utf8').on('data', take).on('end', leave).resume();
  });
}
