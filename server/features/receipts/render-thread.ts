import { parentPort, workerData } from 'node:worker_threads';
import { Fonts } from '../../platform/typesetting/fonts.ts';
import type { ReceiptDocument } from './document.ts';
import { renderReceipt } from './pdf.ts';

/** A thread that renders one receipt after the other, so that requests do not wait for it. */

const { fallbackFont } = workerData as { fallbackFont: string | undefined };
const fonts = Fonts.open(fallbackFont);

async function answer(receipt: ReceiptDocument): Promise<void> {
  const before = process.threadCpuUsage();
  const spentMs = (): number => {
    const { user, system } = process.threadCpuUsage(before);
    return (user + system) / 1000;
  };
  try {
    const pdf = await renderReceipt(receipt, await fonts);
    parentPort?.postMessage({ pdf, spentMs: spentMs() });
  } catch (error) {
    const problem = error instanceof Error ? (error.stack ?? error.message) : String(error);
    parentPort?.postMessage({ problem, spentMs: spentMs() });
  }
}

parentPort?.on('message', (receipt: ReceiptDocument) => void answer(receipt));
