import { afterEdit, type Notation } from './cards.ts';
import type { FieldName } from './svc.ts';

/** One input with its label and its error line. */
export interface Field {
  readonly name: FieldName;
  readonly input: HTMLInputElement;
  digits(): string;
  clear(): void;
  label(text: string, placeholder: string): void;
  showError(text: string | undefined): void;
  error(): string | undefined;
  isAtEnd(): boolean;
}

export function elementById(id: string): HTMLElement {
  const element = document.getElementById(id);
  if (!element) throw new Error(`The page has no element #${id}.`);
  return element;
}

export function createField(name: FieldName, notation: Notation, onEdit: (typed: boolean) => void): Field {
  const input = elementById(name) as HTMLInputElement;
  const line = elementById(`${name}-error`);
  const message = elementById(`${name}-error-text`);
  let textBefore = '';

  function showError(text: string | undefined): void {
    line.hidden = text === undefined;
    message.textContent = text ?? '';
    if (text === undefined) input.removeAttribute('aria-describedby');
    else input.setAttribute('aria-describedby', message.id);
    input.setAttribute('aria-invalid', String(text !== undefined));
  }

  input.addEventListener('input', (event) => {
    // Autofill events have no input type.
    const inputType = event instanceof InputEvent ? event.inputType : '';
    const caret = input.selectionStart ?? input.value.length;
    const edit = afterEdit({ text: input.value, caret }, textBefore, inputType, notation);
    if (edit.text !== input.value) input.value = edit.text;
    // In some browsers, reading the caret of an unfocused field would focus it.
    if (document.activeElement === input) input.setSelectionRange(edit.caret, edit.caret);
    textBefore = edit.text;
    showError(undefined);
    onEdit(!inputType.startsWith('delete'));
  });

  return {
    name,
    input,
    digits: () => notation.digits(input.value),
    clear() {
      input.value = '';
      textBefore = '';
      showError(undefined);
    },
    label(text, placeholder) {
      elementById(`${name}-label`).textContent = text;
      input.placeholder = placeholder;
    },
    showError,
    error: () => message.textContent || undefined,
    isAtEnd: () => input.selectionStart === input.value.length,
  };
}
