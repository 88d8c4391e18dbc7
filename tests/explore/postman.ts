import { findNotifiedConnection, receiveNotices } from '../../server/features/processors/notices.ts';
import type { Random } from '../support/seeded-random.ts';
import { silentLog } from '../support/silent-log.ts';
import type { ConnectedProcessor } from './laboratory.ts';
import type { Node } from './node.ts';
import type { Delivery } from './processors.ts';
import type { Machine, Scheduler } from './scheduler.ts';

/**
 * Carries the notices of processors to the service: at once, which may be before the answer to the call, late, or twice. A
 * processor repeats a notice until it is accepted.
 */

interface PostmanOptions {
  readonly scheduler: Scheduler;
  readonly network: Machine;
  readonly random: Random;
  readonly processors: readonly ConnectedProcessor[];
  /** The process that takes requests now. */
  readonly receiver: () => Node | undefined;
}

const lateMs = { least: 5_000, most: 240_000 };
const againMs = 30_000;
const noAddress = new Set<string>();

export class Postman {
  private readonly options: PostmanOptions;
  private readonly seen = new Map<ConnectedProcessor, number>();
  private count = 0;
  private open = 0;

  constructor(options: PostmanOptions) {
    this.options = options;
  }

  get isIdle(): boolean {
    return this.open === 0;
  }

  /** Sends what processors have reported since the last call. */
  async collect(): Promise<void> {
    for (const processor of this.options.processors) {
      const notices = await processor.notices();
      const known = this.seen.get(processor) ?? 0;
      this.seen.set(processor, Math.max(known, notices.length));
      for (const notice of notices.slice(known)) this.post(processor, notice);
    }
  }

  /** An operator lets the processors send everything again. */
  async sendAgain(): Promise<void> {
    for (const processor of this.options.processors)
      for (const notice of await processor.notices()) this.send(processor, notice);
  }

  private post(processor: ConnectedProcessor, notice: () => Delivery): void {
    const { random } = this.options;
    const how = random.next();
    if (how < 0.25) this.send(processor, notice, random.between(lateMs.least, lateMs.most));
    else this.send(processor, notice);
    if (how > 0.8) this.send(processor, notice, random.chance(0.5) ? random.between(0, lateMs.most) : undefined);
  }

  private send(processor: ConnectedProcessor, notice: () => Delivery, afterMs?: number): void {
    const { scheduler, network } = this.options;
    this.count += 1;
    this.open += 1;
    const label = `notice ${this.count} of ${processor.kind}`;
    const deliver = async (): Promise<void> => {
      void this.deliver(processor, notice).then((isAccepted) => {
        this.open -= 1;
        if (!isAccepted) this.send(processor, notice, againMs);
      });
    };
    const options = { losable: false, ...(afterMs !== undefined && { afterMs }) };
    void scheduler.step(network, label, deliver, options);
  }

  private async deliver({ connectionId }: ConnectedProcessor, notice: () => Delivery): Promise<boolean> {
    const node = this.options.receiver();
    if (!node) return false;
    const { headers, body } = notice();
    const receive = async (): Promise<boolean> => {
      await node.ready;
      const { vault, shards } = node;
      const found = await findNotifiedConnection({ all: shards.all, of: shards.of, away: noAddress }, connectionId);
      return (
        found !== undefined && (await receiveNotices({ vault, log: silentLog }, found, headers, body)).status === 200
      );
    };
    const isAccepted = await this.options.scheduler.run(node.machine, receive).catch(() => false);
    return isAccepted === true;
  }
}
