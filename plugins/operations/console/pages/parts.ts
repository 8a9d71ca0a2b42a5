/**
 * Small parts that many pages show. They are plain functions, so that TypeScript checks their arguments.
 */
import { mayChange, reload, type Operation } from './api.ts';
import {
  type ComponentChildren,
  buildHref,
  closeDialog,
  copyText,
  dialog,
  html,
  getMessage,
  notice,
  notify,
  openDialog,
  useId,
  useLayoutEffect,
  useRef,
} from './kit.ts';

export type Tone = 'plain' | 'good' | 'warn' | 'bad';

/** The head of a page, or of a card on it: its title, and what can be done there. */
export function renderHead(title: ComponentChildren, actions?: ComponentChildren, level: 'h1' | 'h2' = 'h1') {
  return html`<header class="head">
    <${level}>${title}</${level}>
    <div class="actions">${actions}</div>
  </header>`;
}

type Tile = readonly [label: string, value: ComponentChildren, note?: ComponentChildren, href?: string];

/** Figures with their names. Those with an address are links. */
export function renderTiles(...all: readonly Tile[]) {
  const renderTile = ([label, value, note, href]: Tile) =>
    html`<${href === undefined ? 'div' : 'a'} class="tile" href=${href}
      ><span class="label">${label}</span><strong>${value}</strong><span class="note">${note}</span></
    >`;
  return html`<div class="tiles">${all.map(renderTile)}</div>`;
}

/** A word about a state, with its colour. */
export function renderBadge(content: ComponentChildren, tone: Tone = 'plain') {
  return html`<span class=${`badge ${tone}`}>${content}</span>`;
}

const tones: Readonly<Record<string, Tone>> = {
  active: 'good',
  completed: 'good',
  replayed: 'good',
  works: 'good',
  running: 'plain',
  aborted: 'warn',
  approximated: 'warn',
  replaced: 'warn',
  truncated: 'warn',
};

/** A state in the API's word, which says whether it is a good one. */
export function renderState(state: string) {
  return renderBadge(state, tones[state] ?? 'bad');
}

/** What went wrong, if anything did. What could not be loaded can be tried again. */
export function renderProblem(error: Error | string | undefined, retry = reload) {
  if (error === undefined) return null;
  return html`<div class="problem" role="alert">
    <span>${getMessage(error)}</span>
    ${error instanceof Error && html`<button class="quiet" onClick=${retry}>Try again</button>`}
  </div>`;
}

/** Text in a fixed-width font with a button that copies it. */
export function renderCode(text: string, label = 'Copy') {
  return html`<div class="code">
    <pre tabindex="0">${text}</pre>
    <button class="quiet" onClick=${() => copyText(text)}>${label}</button>
  </div>`;
}

/** Names of accounts, which lead to their pages. */
export function renderAccounts(names: readonly string[]) {
  return names.map(
    (name, index) => html`${index > 0 && ', '}<a href=${buildHref(['accounts', name])}>${name}</a>`,
  );
}

function isEmpty(value: ComponentChildren): boolean {
  return (value ?? '') === '' || value === false || (Array.isArray(value) && value.length === 0);
}

/** Names and values, one pair a line. Empty values are left out. */
export function renderFacts(all: readonly (readonly [name: string, value: ComponentChildren])[]) {
  return html`<dl class="facts">
    ${all
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

/**
 * The line at the bottom of a page that `notify` fills. While a dialog is open it has to be inside it: a
 * dialog covers all else, and screen readers hear nothing of it.
 */
function renderNotice() {
  return html`<div class=${`notice ${notice.value?.isError ? 'bad' : ''}`} role="status">
    ${notice.value?.text}
  </div>`;
}

/** The dialog that is open, if any, and the line of `notify`, wherever it is seen and heard. */
export function Dialog() {
  const element = useRef<HTMLDialogElement>(null);
  const open = dialog.value;
  useLayoutEffect(() => {
    if (!open) return element.current?.close();
    if (!element.current?.open) element.current?.showModal();
    element.current?.scrollTo(0, 0);
    // Also in a dialog that was open: the focus is lost with the form that it had.
    // A new secret is copied first: a second press of Enter does not close what shows it only once.
    const field = element.current?.querySelector<HTMLElement>('input, select, .secret button');
    (field ?? element.current?.querySelector('button'))?.focus();
  }, [open]);
  const header =
    open &&
    open.style !== 'palette' &&
    html`<header>
      <h2>${open.title}</h2>
      <button class="quiet" aria-label="Close" onClick=${closeDialog}>✕</button>
    </header>`;
  return html`<dialog
      ref=${element}
      class=${open?.style}
      onClose=${() => !element.current?.open && closeDialog()}
      aria-label=${open?.title}
    >
      ${header} ${open && html`${open.body}${renderNotice()}`}
    </dialog>
    ${!open && renderNotice()}`;
}

/** Runs a button's action, and shows its success or failure. */
export async function runAction(action: () => Promise<unknown>, done?: string): Promise<void> {
  try {
    await action();
    if (done !== undefined) notify(done);
  } catch (error) {
    notify(getMessage(error), true);
  }
}

interface Question {
  readonly title: string;
  readonly text: string;
  readonly button: string;
  readonly done?: string;
  act(): Promise<unknown>;
}

/** Asks for confirmation before an action that cannot be undone. */
export function confirmAction({ title, text, button, done, act }: Question): void {
  // First, so that a second click does nothing.
  const confirm = (): void => {
    closeDialog();
    void runAction(act, done);
  };
  openDialog(
    title,
    html`<p>${text}</p>
      <div class="row">
        <button onClick=${closeDialog}>Cancel</button>
        <button class="danger" onClick=${confirm}>${button}</button>
      </div>`,
  );
}

/** What it does, or where the file is that it downloads, and the operation that the session has to allow. */
export type Action = readonly [title: string, act: (() => void) | string, operation?: Operation];

/** A button for those who may run an operation. */
export function renderAction(title: string, act: () => void, operation: Operation, style = '') {
  return mayChange(operation) && html`<button class=${style} onClick=${act}>${title}</button>`;
}

interface MenuProps {
  /** The subject of the actions: `the key laptop`. */
  readonly of: string;
  readonly items: readonly Action[];
  /** What the button says, if it is not one of a row. */
  readonly label?: string;
}

/** A button that opens a menu of what can be done with a row of a table, or with all of them, if anything. */
export function RowMenu({ of, items, label }: MenuProps) {
  const list = useRef<HTMLDivElement>(null);
  const id = useId();
  const allowed = items.filter(([, , operation]) => operation === undefined || mayChange(operation));
  if (allowed.length === 0) return null;
  const choose = (act?: () => void): void => {
    // First, so that the focus returns here from a dialog that the choice opens.
    list.current?.hidePopover();
    act?.();
  };
  const renderItem = ([title, act]: Action) =>
    typeof act === 'string'
      ? html`<a href=${act} download onClick=${() => choose()}>${title}</a>`
      : html`<button class="quiet" onClick=${() => choose(act)}>${title}</button>`;
  const name = label === undefined ? `Actions for ${of}` : undefined;
  return html`<button class="quiet" aria-label=${name} title=${name && 'Actions'} popovertarget=${id}>
      ${label ?? '⋯'}
    </button>
    <div class="menu" popover id=${id} ref=${list}>${allowed.map(renderItem)}</div>`;
}
