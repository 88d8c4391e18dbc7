import { toast } from '../../components/toasts.tsx';
import { orders } from '../../texts/orders.ts';
import type { Order } from '../../types.ts';
import { useAmountForm } from './amount-form.tsx';

export function useCapture(order: Order) {
  return useAmountForm({
    order,
    path: 'capture',
    most: order.authorized_amount ?? order.total,
    texts: {
      title: orders.captureTitle,
      label: orders.captureAmount,
      hint: orders.captureHint,
      tooMuch: orders.captureTooMuch,
      review: orders.reviewCapture,
      act: orders.capture,
      button: orders.captureButton,
      warning: orders.captureText,
    },
    onDone: ({ status }) => toast(status === 'succeeded' ? orders.captureDone : orders.captureRefused),
  });
}
