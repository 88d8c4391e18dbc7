import type {
  CardState,
  CardTexts,
  CardToken,
  DashboardSession,
  ErrorDetails,
  FieldName,
  PageLink,
  Theme,
  TokenOptions,
} from './svc.ts';

/** @internal By which right the frame requests a token. The key is empty if there is a session or a link. */
export interface Identity {
  readonly publishableKey: string;
  readonly dashboard?: DashboardSession;
  readonly link?: PageLink;
}

/** @internal What the page sends to the frame. The first travels by `postMessage`, the others by the port sent with it. */
export type ToFrame =
  | (Identity & {
      readonly type: 'svc:start';
      readonly theme: Theme;
      readonly texts: Partial<CardTexts>;
      readonly language: string;
      readonly direction: string;
    })
  | { readonly type: 'tokenize'; readonly call: number; readonly options: TokenOptions }
  | { readonly type: 'focus'; readonly field: FieldName }
  | { readonly type: 'clear' };

/** @internal What the frame sends to the page. */
export type ToPage =
  | { readonly type: 'svc:loaded' }
  | { readonly type: 'ready'; readonly title?: string }
  | { readonly type: 'height'; readonly heightPx: number }
  | { readonly type: 'change'; readonly state: CardState }
  | { readonly type: 'enter' }
  | { readonly type: 'token'; readonly call: number; readonly token: CardToken }
  | { readonly type: 'error'; readonly call: number; readonly error: ErrorDetails };
