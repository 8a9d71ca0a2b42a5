/** Controls for what a person chooses or types, bound to a signal or to the query of the page's address. */
import { html, takeText, useLayoutEffect, useRef, type ComponentChildren } from './kit.ts';
import { place, setQuery } from './router.ts';

/** What a control shows and changes: a signal, or `bindQuery`. */
export interface State<Value = string> {
  value: Value;
}

/** A part of the query, which is left out while it has its default value. */
export function bindQuery(name: string, usual = ''): State {
  return {
    get value() {
      return place.value.query[name] ?? usual;
    },
    set value(text) {
      setQuery({ [name]: text.trim() === usual ? '' : text.trim() });
    },
  };
}

type Options = readonly (string | readonly [value: string, label: string])[];

const toPairs = (options: Options) =>
  options.map((option) => (typeof option === 'string' ? ([option, option] as const) : option));

/** The choices of a list, of which one is chosen. */
export function renderOptions(options: Options, chosen: string) {
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
  const shown = {
    get value() {
      return view;
    },
    set value(next: string) {
      state.value = next;
    },
  };
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
  readonly suggest?: readonly string[] | undefined;
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
  const suggestions = suggest?.map((each) => html`<option value=${each} />`);
  const listener = isLive ? { onInput: take } : { onChange: take };
  return html`<label class="control"
      ><span>${label}</span><${ValueInput} type=${type} step="any" list=${list} ...${listener} ...${common}
    /></label>
    ${suggest && html`<datalist id=${list}>${suggestions}</datalist>`}`;
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
