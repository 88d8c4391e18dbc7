import type { ModelOrder } from './model.ts';

/** A second implementation of docs/credit.md, written from that guide: the credit of one customer in one currency. */
export class ModelCredit {
  balance = 0;
  readonly entries: (readonly [type: string, amount: number])[] = [];

  add(type: string, amount: number): void {
    if (amount === 0) return;
    this.balance += amount;
    this.entries.push([type, amount]);
  }

  /** Pays as much of the total as it covers. */
  use(total: number): number {
    const part = Math.min(this.balance, total);
    this.add('order', -part);
    return part;
  }

  /** The charge of the rest was declined, so nothing is used. */
  useInVain(total: number): void {
    this.add('order_failed', this.use(total));
  }

  /** The card gets its part first. Returns what came back as credit. */
  refund(order: ModelOrder, amount: number): number {
    const toCard = Math.min(amount, leftOnCard(order));
    const toCredit = amount - toCard;
    order.refunded += amount;
    order.creditRefunded += toCredit;
    this.add('refund', toCredit);
    return toCredit;
  }

  end(): void {
    this.add('customer_deleted', -this.balance);
  }
}

/** What the card paid and did not get back. */
export const leftOnCard = ({ total, credit, refunded, creditRefunded }: ModelOrder): number =>
  total - credit - (refunded - creditRefunded);
