import { solveProof } from './proof.ts';

/** Finds the answer to a proof of work without stopping the page. */
addEventListener('message', ({ data }: MessageEvent<{ challenge: string; difficulty: number }>) => {
  (self as unknown as Worker).postMessage(solveProof(data.challenge, data.difficulty), []);
});
