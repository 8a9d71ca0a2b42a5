/** Small parts that many pages show. */
import {
  type ComponentChildren,
  copyText,
  html,
  messageOf,
  notify,
  closeDialog,
  openDialog,
  takeText,
} from './kit.ts';

/** The head of a page: its title, and what can be done on it. */
export function Head({
  title,
  children,
}: {
  readonly title: ComponentChildren;
  readonly children?: ComponentChildren;
}) {
  return html`<header class="head">
    <h1>${title}</h1>
    <div class="actions">${children}</div>
  </header>`;
}

/** A figure with its name. */
export function Tile(props: {
  readonly label: string;
  readonly value: ComponentChildren;
  readonly note?: ComponentChildren;
  readonly href?: string;
}) {
  const { label, value, note, href } = props;
  const body = html`<span class="label">${label}</span><strong>${value}</strong
    ><span class="note">${note}</span>`;
  return href === undefined
    ? html`<div class="tile">${body}</div>`
    : html`<a class="tile" href=${href}>${body}</a>`;
}

/** One word about a state, with its colour. */
export function Badge({
  tone = 'plain',
  children,
}: {
  readonly tone?: 'plain' | 'good' | 'warn' | 'bad';
  readonly children: ComponentChildren;
}) {
  return html`<span class=${`badge ${tone}`}>${children}</span>`;
}

/** An error of a request, with a way to try again. */
export function Fault({ error, retry }: { readonly error: Error | undefined; readonly retry?: () => void }) {
  if (!error) return null;
  return html`<div class="problem" role="alert">
    <span>${error.message}</span> ${retry && html`<button class="quiet" onClick=${retry}>Try again</button>`}
  </div>`;
}

/** Text in a fixed-width font with a button that copies it. */
export function Code({ text, label = 'Copy' }: { readonly text: string; readonly label?: string }) {
  return html`<div class="code">
    <pre tabindex="0">${text}</pre>
    <button class="quiet" onClick=${() => copyText(text)}>${label}</button>
  </div>`;
}

/** A row of choices of which one is in force. */
export function Choice(props: {
  readonly label: string;
  readonly options: readonly (readonly [value: string, label: string])[];
  readonly value: string;
  onChange(value: string): void;
}) {
  const { label, options, value, onChange } = props;
  return html`<div class="choice" role="group" aria-label=${label}>
    ${options.map(
      ([key, text]) =>
        html`<button aria-pressed=${key === value ? 'true' : 'false'} onClick=${() => onChange(key)}>
          ${text}
        </button>`,
    )}
  </div>`;
}

/** A list to choose from, with its name before it. */
export function Select(props: {
  readonly label: string;
  readonly options: readonly (readonly [value: string, label: string])[];
  readonly value: string;
  onChange(value: string): void;
}) {
  const { label, options, value, onChange } = props;
  return html`<label class="select"
    ><span>${label}</span
    ><select aria-label=${label} value=${value} onChange=${takeText(onChange)}>
      ${options.map(([key, text]) => html`<option value=${key} selected=${key === value}>${text}</option>`)}
    </select></label
  >`;
}

function isEmpty(value: ComponentChildren): boolean {
  return (
    value === undefined || value === null || value === '' || (Array.isArray(value) && value.length === 0)
  );
}

/** Names and values, one pair a line. Empty values are left out. */
export function Facts({
  of,
}: {
  readonly of: readonly (readonly [name: string, value: ComponentChildren])[];
}) {
  return html`<dl class="facts">
    ${of
      .filter(([, value]) => !isEmpty(value))
      .map(
        ([name, value]) =>
          html`<div>
            <dt>${name}</dt>
            <dd>${value}</dd>
          </div>`,
      )}
  </dl>`;
}

/** Runs what a button asks for, and reports how it went. */
export async function attempt(action: () => Promise<unknown>, done?: string): Promise<void> {
  try {
    await action();
    if (done !== undefined) notify(done);
  } catch (error) {
    notify(messageOf(error), true);
  }
}

/** Asks before something that cannot be taken back. */
export function confirmThat(
  title: string,
  text: string,
  button: string,
  action: () => Promise<unknown>,
): void {
  openDialog(
    title,
    html`<p>${text}</p>
      <div class="row">
        <button onClick=${closeDialog}>Cancel</button>
        <button class="danger" onClick=${() => void attempt(action).then(closeDialog)}>${button}</button>
      </div>`,
  );
}
