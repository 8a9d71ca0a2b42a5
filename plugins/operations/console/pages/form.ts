/** Forms: labelled fields, errors beside the field they concern, and one submit at a time. */
import { ApiError } from './api.ts';
import { renderOptions } from './controls.ts';
import {
  type ComponentChildren,
  closeDialog,
  dialog,
  html,
  getMessage,
  notify,
  openDialog,
  useEffect,
  useSignal,
} from './kit.ts';

export interface Field {
  /** The API's name of the field, so that its errors appear next to it. */
  readonly name: string;
  readonly label: string;
  readonly hint?: string;
  readonly type?: 'text' | 'password' | 'number' | 'datetime-local' | 'select' | 'checkbox';
  readonly options?: Parameters<typeof renderOptions>[0];
  readonly value?: string;
  readonly placeholder?: string;
  readonly isRequired?: boolean;
}

export type Values = Readonly<Partial<Record<string, string>>>;

interface FormProps {
  readonly fields: readonly Field[];
  readonly submit: string;
  readonly isDangerous?: boolean;
  /** Receives trimmed texts; a checkbox is `on` or empty. Errors that it throws are shown in the form. */
  send(values: Values): Promise<unknown>;
}

interface Fault {
  readonly text: string;
  readonly field: string | undefined;
}

/** An error beside its field does not repeat what the API calls the field. */
function readFault(error: unknown, fields: readonly Field[]): Fault {
  const param = error instanceof ApiError ? (error.param ?? '') : '';
  const field = fields.find(({ name }) => param.split('.').includes(name))?.name;
  const text = getMessage(error);
  return { text: field === undefined ? text : text.replace(`${param}: `, ''), field };
}

let forms = 0;

function renderControl(field: Field, id: string, isWrong: boolean) {
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
      ${renderOptions(options, value)}
    </select>`;
  if (type === 'checkbox')
    return html`<input ...${common} type="checkbox" defaultChecked=${value === 'on'} />`;
  return html`<input
    ...${common}
    type=${type}
    step=${type === 'datetime-local' ? '1' : 'any'}
    defaultValue=${value}
    placeholder=${placeholder}
    autocomplete=${type === 'password' ? 'current-password' : 'off'}
    spellcheck=${false}
  />`;
}

function Form({ fields, submit, isDangerous = false, send }: FormProps) {
  const number = useSignal(0);
  if (number.value === 0) number.value = forms += 1;
  const fault = useSignal<Fault | undefined>(undefined);
  const isBusy = useSignal(false);
  const buildId = (name: string): string => `form${number.value}-${name}`;
  useEffect(() => {
    // Screen readers then say what is wrong with the field.
    if (fault.value?.field !== undefined) document.getElementById(buildId(fault.value.field))?.focus();
  }, [fault.value]);

  async function take(event: Event & { currentTarget: HTMLFormElement }): Promise<void> {
    event.preventDefault();
    if (isBusy.value) return;
    const form = event.currentTarget;
    const data = new FormData(form);
    isBusy.value = true;
    fault.value = undefined;
    try {
      await send(Object.fromEntries(fields.map(({ name }) => [name, String(data.get(name) ?? '').trim()])));
    } catch (error) {
      // Escape may have closed the form, which then cannot show it.
      if (form.isConnected) fault.value = readFault(error, fields);
      else notify(getMessage(error), true);
    } finally {
      isBusy.value = false;
    }
  }

  const renderField = (field: Field) => {
    const id = buildId(field.name);
    const isWrong = fault.value?.field === field.name;
    return html`<div class=${`field ${field.type ?? 'text'}`}>
      <label for=${id}>${field.label}</label>
      ${renderControl(field, id, isWrong)}
      <small id=${`${id}-hint`} class=${isWrong ? 'fault' : 'dim'}
        >${isWrong ? fault.value?.text : field.hint}</small
      >
    </div>`;
  };
  const general = fault.value && fault.value.field === undefined && fault.value.text;
  return html`<form class="form" onSubmit=${take}>
    ${fields.map(renderField)} ${general && html`<p class="fault" role="alert">${general}</p>`}
    <button class=${isDangerous ? 'danger' : 'primary'} aria-disabled=${isBusy.value}>${submit}</button>
  </form>`;
}

/** A form on a page. Another `key` makes another form. */
export function renderForm(props: FormProps, key?: string) {
  return html`<${Form} key=${key} ...${props} />`;
}

interface FormDialog extends FormProps {
  readonly title: string;
  readonly intro?: string;
  /** What comes below the form. */
  readonly more?: ComponentChildren;
  /** Runs after what the form sends, when the dialog is closed. */
  onDone?(): void;
}

/** A form that closes the dialog around it, unless submitting has opened another one. */
export function renderDialogForm({ send, onDone, ...props }: Omit<FormDialog, 'title' | 'intro' | 'more'>) {
  return renderForm({
    ...props,
    async send(values) {
      const before = dialog.value;
      await send(values);
      if (dialog.value === before) closeDialog();
      onDone?.();
    },
  });
}

export function openForm({ title, intro, more, ...props }: FormDialog): void {
  openDialog(title, html`${intro !== undefined && html`<p>${intro}</p>`} ${renderDialogForm(props)} ${more}`);
}

/** An optional value for a body of the API: left out if nothing was typed. */
export function keepTyped(name: string, value: string | undefined): Readonly<Record<string, string>> {
  return value === undefined || value === '' ? {} : { [name]: value };
}

/** Words of a text, separated by commas or spaces. */
export function splitWords(text = ''): string[] {
  return text.split(/[\s,]+/).filter(Boolean);
}

/** A moment in the format of a `datetime-local` input, with seconds. */
export function toLocalTime(iso: string | null | undefined): string {
  const date = new Date(iso ?? '');
  if (Number.isNaN(date.getTime())) return '';
  return new Date(date.getTime() - date.getTimezoneOffset() * 60_000).toISOString().slice(0, 19);
}
