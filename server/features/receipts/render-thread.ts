import { parentPort, workerData } from 'node:worker_threads';
import { Fonts } from '../../platform/typesetting/fonts.ts';
import type { ReceiptDocument } from './document.ts';
import { renderReceipt } from './pdf.ts';

/** A thread that renders one receipt after the other, so that requests do not wait for it. */

const { fallbackFont } = workerData as { fallbackFont: string | undefined };
const fonts = Fonts.open(fallbackFont);

async function answer(receipt: ReceiptDocument): Promise<void> {
  try {
    parentPort?.postMessage({ pdf: await renderReceipt(receipt, await fonts) });
  } catch (error) {
    parentPort?.postMessage({ problem: error instanceof Error ? (error.stack ?? error.message) : String(error) });
  }
}

parentPort?.on('message', (receipt: ReceiptDocument) => void answer(receipt));
