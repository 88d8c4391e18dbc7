import { existsSync } from 'node:fs';
import { Worker } from 'node:worker_threads';
import { ApiError } from '../../errors.ts';
import { ConfigurationError } from '../../platform/configuration-error.ts';
import { createSemaphore } from '../../platform/semaphore.ts';
import type { ReceiptDocument } from './document.ts';

/** Renders receipts in a thread of its own: a receipt takes 25 ms and the first 400 ms, in which no request would be answered. */
interface ReceiptRenderer {
  /** Companies take turns. `onSpent` gets the processor time that the receipt took, also if it failed. */
  render(receipt: ReceiptDocument, companyId?: string, onSpent?: (ms: number) => void): Promise<Buffer>;
  stop(): Promise<void>;
}

const renderMs = 10_000;
const idleMs = 30_000;
const waitingMax = 20;
const memoryMbMax = 256;

/** A release has the thread as a file beside the bundle. */
const threadFile = new URL(
  import.meta.url.endsWith('.ts') ? './render-thread.ts' : './receipt-thread.js',
  import.meta.url,
);

type Answer = ({ readonly pdf: Uint8Array } | { readonly problem: string }) & { readonly spentMs: number };

export function openRenderer(fallbackFont: string | undefined): ReceiptRenderer {
  if (fallbackFont !== undefined && !existsSync(fallbackFont)) {
    throw new ConfigurationError(`SVC_RECEIPT_FONT: there is no file ${fallbackFont}`);
  }
  let thread: Worker | undefined;
  let idle: NodeJS.Timeout | undefined;
  const inTurn = createSemaphore({
    atOnce: 1,
    waitingMax,
    busy: () => new ApiError('service_unavailable', 'Many receipts are being made. Open the link again in a minute.'),
  });

  function start(): Worker {
    const started = new Worker(threadFile, {
      workerData: { fallbackFont },
      execArgv: [],
      resourceLimits: { maxOldGenerationSizeMb: memoryMbMax },
    });
    started.unref();
    // A thread that fails while it waits must not end the process. The next receipt starts another.
    started.on('error', () => undefined);
    started.once('exit', () => {
      if (thread === started) thread = undefined;
    });
    return started;
  }

  async function stop(): Promise<void> {
    clearTimeout(idle);
    const stopped = thread;
    thread = undefined;
    await stopped?.terminate();
  }

  async function renderOne(receipt: ReceiptDocument, onSpent?: (ms: number) => void): Promise<Buffer> {
    clearTimeout(idle);
    let spentMs = renderMs;
    thread ??= start();
    try {
      const answer = await answerOf(thread, receipt);
      ({ spentMs } = answer);
      if ('problem' in answer) throw new Error(`a receipt could not be rendered: ${answer.problem}`);
      return Buffer.from(answer.pdf);
    } catch (error) {
      await stop();
      throw error;
    } finally {
      onSpent?.(spentMs);
      idle = setTimeout(() => void stop(), idleMs).unref();
    }
  }
  return {
    render: (receipt, companyId, onSpent) => inTurn(() => renderOne(receipt, onSpent), companyId),
    stop,
  };
}

async function answerOf(thread: Worker, receipt: ReceiptDocument): Promise<Answer> {
  const { promise, resolve, reject } = Promise.withResolvers<Answer>();
  const timer = setTimeout(() => reject(new Error(`a receipt took longer than ${renderMs} ms`)), renderMs);
  const onExit = (code: number): void => reject(new Error(`the thread of receipts ended with ${code}`));
  thread.once('message', resolve).once('error', reject).once('exit', onExit);
  thread.postMessage(receipt);
  try {
    return await promise;
  } finally {
    clearTimeout(timer);
    thread.off('message', resolve).off('error', reject).off('exit', onExit);
  }
}
