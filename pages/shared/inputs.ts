import { byId } from './dom.ts';

/** The inputs of a form: what is wrong with one is shown beside it and read out. */

export type Check = (value: string) => string | undefined;

export interface Input {
  readonly name: string;
  readonly control: HTMLInputElement | HTMLSelectElement;
  value(): string;
  /** Shows what is wrong with it, or that nothing is. */
  check(): boolean;
  showError(text: string | undefined): void;
}

/** `id` is the control; the document has `id-error` for its message. A hidden or disabled control is not checked. */
export function createInput(id: string, check: Check): Input {
  const control = byId(id) as HTMLInputElement | HTMLSelectElement;
  const line = byId(`${id}-error`);
  const value = (): string => control.value.trim();
  const isUsed = (): boolean => !control.disabled && control.closest('[hidden]') === null;

  function showError(text: string | undefined): void {
    line.textContent = text ?? '';
    line.hidden = !text;
    control.setAttribute('aria-invalid', String(Boolean(text)));
    if (text) control.setAttribute('aria-describedby', line.id);
    else control.removeAttribute('aria-describedby');
  }

  control.addEventListener('input', () => showError(undefined));
  control.addEventListener('change', () => {
    // An empty input that the customer only passed through is not an error yet.
    if (value() !== '') showError(check(value()));
  });
  return {
    name: id,
    control,
    value,
    showError,
    check() {
      const problem = isUsed() ? check(value()) : undefined;
      showError(problem);
      return !problem;
    },
  };
}

/** Shows all problems at once. Returns the first input with one. */
export function firstInvalid(inputs: readonly Input[]): Input | undefined {
  return inputs.filter((input) => !input.check())[0];
}
