/** Forms: labelled fields, errors beside the field they concern, and one submit at a time. */
import { ApiError } from './api.ts';
import { type ComponentChildren, html, messageOf, useSignal } from './kit.ts';

export interface Field {
  /** As the API calls it, so that its errors find it. */
  readonly name: string;
  readonly label: string;
  readonly hint?: string;
  readonly type?:
    | 'text'
    | 'password'
    | 'number'
    | 'date'
    | 'datetime-local'
    | 'select'
    | 'textarea'
    | 'checkbox';
  readonly options?: readonly (string | readonly [value: string, label: string])[];
  readonly value?: string;
  readonly placeholder?: string;
  readonly isRequired?: boolean;
}

export type Values = Readonly<Record<string, string>>;

interface FormProps {
  readonly fields: readonly Field[];
  readonly submit: string;
  readonly isDangerous?: boolean;
  readonly children?: ComponentChildren;
  /** Receives trimmed texts; a checkbox is `on` or empty. What it throws is shown in the form. */
  onSubmit(values: Values): Promise<unknown>;
}

interface Fault {
  readonly text: string;
  readonly field: string | undefined;
}

let forms = 0;

function control(field: Field, id: string, isWrong: boolean) {
  const { name, type = 'text', options = [], value = '', placeholder = '', isRequired = false } = field;
  const common = {
    id,
    name,
    required: isRequired,
    'aria-invalid': isWrong ? 'true' : undefined,
    'aria-describedby': `${id}-hint`,
  };
  if (type === 'select')
    return html`<select ...${common}>
      ${options.map((option) => {
        const [key, label] = typeof option === 'string' ? [option, option] : option;
        return html`<option value=${key} selected=${key === value}>${label}</option>`;
      })}
    </select>`;
  if (type === 'textarea')
    return html`<textarea ...${common} rows="3" placeholder=${placeholder} spellcheck=${false}>
${value}</textarea>`;
  if (type === 'checkbox')
    return html`<input ...${common} type="checkbox" defaultChecked=${value === 'on'} />`;
  const step = type === 'datetime-local' ? '1' : 'any';
  return html`<input
    ...${common}
    type=${type}
    step=${step}
    defaultValue=${value}
    placeholder=${placeholder}
    autocomplete=${type === 'password' ? 'current-password' : 'off'}
    spellcheck=${false}
  />`;
}

export function Form({ fields, submit, isDangerous = false, children, onSubmit }: FormProps) {
  const number = useSignal(0);
  if (number.value === 0) number.value = forms += 1;
  const fault = useSignal<Fault | undefined>(undefined);
  const isBusy = useSignal(false);

  async function send(event: Event & { currentTarget: HTMLFormElement }): Promise<void> {
    event.preventDefault();
    if (isBusy.value) return;
    const data = new FormData(event.currentTarget);
    const values = Object.fromEntries(fields.map(({ name }) => [name, String(data.get(name) ?? '').trim()]));
    isBusy.value = true;
    fault.value = undefined;
    try {
      await onSubmit(values);
    } catch (error) {
      const param = error instanceof ApiError ? error.param : null;
      const field = fields.find(({ name }) => name === param || name === param?.split('.').at(-1))?.name;
      fault.value = { text: messageOf(error), field };
    } finally {
      isBusy.value = false;
    }
  }

  const row = (field: Field) => {
    const id = `form${number.value}-${field.name}`;
    const isWrong = fault.value?.field === field.name;
    return html`<div class=${`field ${field.type ?? 'text'}`}>
      <label for=${id}>${field.label}</label>
      ${control(field, id, isWrong)}
      <small id=${`${id}-hint`} class=${isWrong ? 'fault' : 'dim'}
        >${isWrong ? fault.value?.text : field.hint}</small
      >
    </div>`;
  };
  return html`<form class="form" onSubmit=${send}>
    ${fields.map(row)} ${children}
    ${
      fault.value &&
      fault.value.field === undefined &&
      html`<p class="fault" role="alert">${fault.value.text}</p>`
    }
    <button class=${isDangerous ? 'danger' : 'primary'} disabled=${isBusy}>${submit}</button>
  </form>`;
}
