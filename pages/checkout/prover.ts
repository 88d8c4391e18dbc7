import type { Payment, Proof } from './session.ts';

/** Begins with the proof of work as soon as the service asks for it, so that the customer rarely waits. */
export interface Prover {
  prepare(proof: Proof | null): void;
  answer(): Promise<Payment['proof']>;
}

export function createProver(): Prover {
  let current: Proof | null = null;
  let solved: Promise<Payment['proof']> = Promise.resolve(undefined);
  return {
    prepare(proof) {
      if (proof?.challenge === current?.challenge) return;
      current = proof;
      solved = proof ? solveInWorker(proof) : Promise.resolve(undefined);
      // Reported when the customer pays.
      solved.catch(() => undefined);
    },
    answer: () => solved,
  };
}

function solveInWorker(proof: Proof): Promise<Payment['proof']> {
  const worker = new Worker(document.body.dataset.proofUrl ?? '');
  return new Promise((resolve, reject) => {
    worker.addEventListener('error', () => reject(new Error('The proof of work failed.')));
    worker.addEventListener('message', ({ data }: MessageEvent<string>) => {
      worker.terminate();
      resolve({ challenge: proof.challenge, answer: data });
    });
    worker.postMessage(proof, []);
  });
}
