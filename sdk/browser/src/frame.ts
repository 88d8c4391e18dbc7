import type { ToFrame, ToPage } from './messages.ts';
import type { CardFieldsOptions } from './svc.ts';

/** The frame in a merchant's page, and the conversation with it. */

const firstHeightPx = 94;
const heightPxMax = 1_000;
const pressEvents = ['pointerdown', 'pointerup', 'pointercancel'];
/** The iframe is larger by this much on each side, so that a focus ring is not cut off. */
const ringPx = 4;

export function createFrame(serviceUrl: URL, { theme, texts, language }: CardFieldsOptions): HTMLIFrameElement {
  const frame = document.createElement('iframe');
  frame.title = texts?.title ?? 'Card details';
  frame.referrerPolicy = 'no-referrer';
  const query = language ? `?language=${encodeURIComponent(language)}` : '';
  frame.src = `${new URL(`card-fields${query}`, serviceUrl).href}#origin=${encodeURIComponent(location.origin)}`;
  const mode = theme?.mode ?? 'light';
  const style = {
    display: 'block',
    border: '0',
    width: `calc(100% + ${2 * ringPx}px)`,
    'max-width': 'none',
    height: `${firstHeightPx}px`,
    margin: `-${ringPx}px`,
    background: 'transparent',
    // If the color scheme of the iframe differs from its document, browsers give it an opaque background.
    'color-scheme': mode === 'auto' ? 'light dark' : mode,
  };
  for (const [name, value] of Object.entries(style)) frame.style.setProperty(name, value, 'important');
  return frame;
}

/** The height of the frame, which follows what it shows. */
export interface Height {
  set(heightPx: number): void;
  stop(): void;
}

/** When a mouse press leaves a field, the layout must not move until the release, or the button gets no click. */
export function followHeight(frame: HTMLIFrameElement): Height {
  let heightPx = firstHeightPx;
  let pressed = false;
  const apply = (): void => {
    if (!pressed) frame.style.setProperty('height', `${heightPx}px`, 'important');
  };
  const onPress = ({ type }: Event): void => {
    pressed = type === 'pointerdown';
    // After the click.
    if (!pressed) setTimeout(apply);
  };
  for (const type of pressEvents) addEventListener(type, onPress, true);
  return {
    set(wantedPx) {
      heightPx = Math.min(Math.max(wantedPx, 0), heightPxMax);
      apply();
    },
    stop() {
      for (const type of pressEvents) removeEventListener(type, onPress, true);
    },
  };
}

export interface Conversation {
  send(message: ToFrame): void;
  isOpen(): boolean;
  close(): void;
}

export interface Listener {
  onMessage(message: ToPage): void;
  /** The frame was loaded again, as it is when the page moves it: what was typed is gone. */
  onReload(): void;
}

/** Messages to and from the frame. What is sent before the frame can hear it waits. */
export function converse(
  frame: HTMLIFrameElement,
  origin: string,
  start: () => ToFrame,
  listener: Listener,
): Conversation {
  let port: MessagePort | undefined;
  const waiting: ToFrame[] = [];
  const open = (): void => {
    if (port) listener.onReload();
    port?.close();
    const channel = new MessageChannel();
    port = channel.port1;
    port.addEventListener('message', ({ data }: MessageEvent<ToPage>) => listener.onMessage(data));
    port.start();
    frame.contentWindow?.postMessage(start(), origin, [channel.port2]);
    for (const message of waiting.splice(0)) port.postMessage(message);
  };
  /** Accepts messages only from our own iframe with a page of the service. */
  const onWindowMessage = (event: MessageEvent<ToPage | null>): void => {
    if (event.source !== frame.contentWindow || event.origin !== origin) return;
    if (event.data?.type === 'svc:loaded') open();
  };
  addEventListener('message', onWindowMessage);
  return {
    send(message) {
      if (port) port.postMessage(message);
      else waiting.push(message);
    },
    isOpen: () => port !== undefined,
    close() {
      removeEventListener('message', onWindowMessage);
      port?.close();
    },
  };
}

/** The Enter key submits the form, as in any other input. */
export function submitFormAround(frame: HTMLIFrameElement | undefined): void {
  const form = frame?.closest('form');
  const button = form?.querySelector<HTMLElement>('button:not([type=button], [type=reset]), input[type=submit]');
  if (button) button.click();
  else form?.requestSubmit();
}
