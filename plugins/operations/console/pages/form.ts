/** Controls bound to a signal or to the query of the address, and forms that send what was typed. */
import { ApiError } from './api.ts';
import {
  type ComponentChildren,
  closeDialog,
  dialog,
  html,
  getMessage,
  notify,
  openDialog,
  useEffect,
  useId,
  useSignal,
  takeText,
  useLayoutEffect,
  useRef,
  place,
  setQuery,
} from './kit.ts';

/** What a control shows and changes: a signal, or `bindQuery`. */
export interface State<Value = string> {
  value: Value;
}

export function bindState<Value>(get: () => Value, set: (value: Value) => void): State<Value> {
  return {
    get value() {
      return get();
    },
    set value(next) {
      set(next);
    },
  };
}

/** A part of the query, which is left out while it has its default value. */
export const bindQuery = (name: string, usual = ''): State =>
  bindState(
    () => place.value.query[name] ?? usual,
    (text) => setQuery({ [name]: text.trim() === usual ? '' : text.trim() }),
  );

type Options = readonly (string | readonly [value: string, label: string])[];

const toPairs = (options: Options) =>
  options.map((option) => (typeof option === 'string' ? ([option, option] as const) : option));

/** The choices of a list, of which one is chosen. */
function renderOptions(options: Options, chosen: string) {
  return toPairs(options).map(
    ([value, text]) => html`<option value=${value} selected=${value === chosen}>${text}</option>`,
  );
}

/** A row of choices, one of which is active. */
export function renderChoice(label: string, options: Options, state: State) {
  return html`<div class="choice" role="group" aria-label=${label}>
    ${toPairs(options).map(
      ([value, text]) =>
        html`<button aria-pressed=${String(value === state.value)} onClick=${() => (state.value = value)}>
          ${text}
        </button>`,
    )}
  </div>`;
}

type View = readonly [key: string, title: string, render: () => ComponentChildren];

/** Views of a page, of which `render` shows one: the first unless the state names another. */
export function chooseView(state: State, views: readonly [View, ...View[]]) {
  const [view, , render] = views.find(([key]) => key === state.value) ?? views[0];
  const shown = bindState<string>(
    () => view,
    (next) => (state.value = next),
  );
  const titles = views.map(([key, title]) => [key, title] as const);
  return { view, choice: renderChoice('Show', titles, shown), render };
}

/** A list to choose from, with its name. */
export function renderSelect(label: string, options: Options, state: State) {
  const take = takeText((text) => (state.value = text));
  return html`<label class="control"
    ><span>${label}</span
    ><select aria-label=${label} value=${state.value} onChange=${take}>
      ${renderOptions(options, state.value)}
    </select></label
  >`;
}

interface InputOptions {
  readonly type?: string;
  readonly placeholder?: string;
  /** Values to choose from; others can be typed too. */
  readonly suggest?: readonly (string | readonly [value: string, label: string | undefined])[] | undefined;
  /** Updates with every letter instead of when the input loses focus. */
  readonly isLive?: boolean;
  /** With rows it is a field of several lines, live. */
  readonly rows?: number;
}

/**
 * An input that shows a value. The page draws it again whenever data arrives, and a bound value would then
 * replace text that is typed and not entered yet, so the value is set only when it changes.
 */
function ValueInput({ value, ...rest }: { readonly value: string } & Readonly<Record<string, unknown>>) {
  const field = useRef<HTMLInputElement>(null);
  useLayoutEffect(() => {
    if (field.current) field.current.value = value;
  }, [value]);
  return html`<input ref=${field} ...${rest} />`;
}

/** A field to type in, with its name. */
export function renderInput(label: string, state: State, options: InputOptions = {}) {
  const { type = 'text', placeholder = '', suggest, isLive = false, rows } = options;
  const take = takeText((text) => (state.value = text));
  const common = { value: state.value, placeholder, spellcheck: false };
  if (rows !== undefined)
    return html`<label class="editor"
      ><span>${label}</span><textarea rows=${rows} onInput=${take} ...${common}></textarea>
    </label>`;
  const list = suggest && `${label.toLowerCase().replaceAll(' ', '-')}-list`;
  const suggestions = suggest?.map((each) => {
    const [value, text] = typeof each === 'string' ? [each] : each;
    return html`<option value=${value} label=${text} />`;
  });
  const listener = isLive ? { onInput: take } : { onChange: take };
  return html`<label class="control"
      ><span>${label}</span><${ValueInput} type=${type} step="any" list=${list} ...${listener} ...${common}
    /></label>
    ${suggest && html`<datalist id=${list}>${suggestions}</datalist>`}`;
}

/** A field that filters what is below it as one types. The key `/` goes there. */
export function renderSearch(label: string, state: State, style?: string) {
  return html`<input
    type="search"
    class=${style}
    placeholder="Filter"
    aria-label=${label}
    value=${state.value}
    onInput=${takeText((text) => (state.value = text))}
  />`;
}

/** Whether a date is not half typed: browsers report the years 0002, 0020 and 0202 on the way to 2026. */
export function isTyped(date: string): boolean {
  return date === '' || date >= '1000';
}

/** A box to check, with its name. */
export function renderCheckbox(label: string, state: State<boolean>) {
  const take = ({ currentTarget }: { readonly currentTarget: HTMLInputElement }): void => {
    state.value = currentTarget.checked;
  };
  return html`<label class="check"
    ><input type="checkbox" checked=${state.value} onChange=${take} /> ${label}</label
  >`;
}

export interface Field {
  /** The API's name of the field, so that its errors appear next to it. */
  readonly name: string;
  readonly label: string;
  readonly hint?: string;
  /** What is typed, and so what is sent: words become a list, a local time becomes one in UTC. */
  readonly type?: 'text' | 'password' | 'number' | 'datetime-local' | 'select' | 'checkbox' | 'words';
  readonly options?: Parameters<typeof renderOptions>[0];
  readonly placeholder?: string;
  readonly isRequired?: boolean;
}

export const amountField: Field = { name: 'amount', label: 'Amount in USD', isRequired: true };
export const reasonField: Field = {
  name: 'reason',
  label: 'Reason',
  isRequired: true,
  hint: 'Stored in the books with your name.',
};

type Value = string | number | boolean | readonly string[] | null | undefined;
export type Values = Readonly<Record<string, Value>>;

/** A value as its field shows it. */
function toText(value: unknown, type: Field['type']): string {
  if (type === 'datetime-local') return toLocalTime(value);
  if (Array.isArray(value)) return value.join(', ');
  if (type === 'checkbox') return value === true ? 'on' : '';
  return String(value ?? '');
}

/** What is sent for a text. */
function readText(text: string, type: Field['type']): Value {
  if (type === 'checkbox') return text === 'on';
  if (type === 'words') return splitWords(text);
  if (type === 'number') return Number(text);
  return type === 'datetime-local' ? new Date(text).toISOString() : text;
}

interface FormProps {
  readonly fields: readonly Field[];
  /** What the fields show at first, by their names. */
  readonly values?: Readonly<Record<string, unknown>>;
  readonly submit: string;
  readonly isDangerous?: boolean;
  /** Receives what is filled in, and what differs from `values`: null if it was emptied. */
  send(values: Values, changed: Values): Promise<unknown>;
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

function renderControl(field: Field, value: string, id: string, isWrong: boolean) {
  const { name, type = 'text', options = [], placeholder = '', isRequired = false } = field;
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
    type=${type === 'words' ? 'text' : type}
    step=${type === 'datetime-local' ? '1' : 'any'}
    defaultValue=${value}
    placeholder=${placeholder}
    autocomplete=${type === 'password' ? 'current-password' : 'off'}
    spellcheck=${false}
  />`;
}

function Form({ fields, values = {}, submit, isDangerous = false, send }: FormProps) {
  const prefix = useId();
  const fault = useSignal<Fault | undefined>(undefined);
  const isBusy = useSignal(false);
  const buildId = (name: string): string => `${prefix}-${name}`;
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
      const typed = fields.map(({ name, type, isRequired = type === 'checkbox' }) => {
        const text = String(data.get(name) ?? '').trim();
        const value = text === '' && !isRequired ? null : readText(text, type);
        return { name, value, isChanged: toText(value, type) !== toText(values[name], type) };
      });
      const toPair = ({ name, value }: (typeof typed)[number]) => [name, value] as const;
      await send(
        Object.fromEntries(typed.filter(({ value }) => value !== null).map(toPair)),
        Object.fromEntries(typed.filter(({ isChanged }) => isChanged).map(toPair)),
      );
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
      ${renderControl(field, toText(values[field.name], field.type), id, isWrong)}
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
}

/** A form that closes the dialog around it, unless submitting has opened another one. */
export function renderDialogForm({ send, ...props }: FormProps) {
  return renderForm({
    ...props,
    async send(...values) {
      const before = dialog.value;
      await send(...values);
      if (dialog.value === before) closeDialog();
    },
  });
}

export function openForm({ title, intro, more, ...props }: FormDialog): void {
  openDialog(title, html`${intro !== undefined && html`<p>${intro}</p>`} ${renderDialogForm(props)} ${more}`);
}

/** Words of a text, separated by commas or spaces. */
function splitWords(text: string): string[] {
  return text.split(/[\s,]+/).filter(Boolean);
}

/** Names in a text, which may have spaces. */
export function splitNames(text: Value): string[] {
  return String(text ?? '')
    .split(',')
    .map((each) => each.trim())
    .filter(Boolean);
}

/** A moment in the format of a `datetime-local` input, with seconds. */
export function toLocalTime(iso: unknown): string {
  const date = new Date(typeof iso === 'string' ? iso : '');
  if (Number.isNaN(date.getTime())) return '';
  return new Date(date.getTime() - date.getTimezoneOffset() * 60_000).toISOString().slice(0, 19);
}
