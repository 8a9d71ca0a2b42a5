/**
 * Small parts that many pages show. They are plain functions, so that TypeScript checks their arguments.
 */
import { reload } from './api.ts';
import {
  type ComponentChildren,
  closeDialog,
  copyText,
  html,
  getMessage,
  notice,
  notify,
  openDialog,
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
export function renderNotice() {
  return html`<div class=${`notice ${notice.value?.isError ? 'bad' : ''}`} role="status">
    ${notice.value?.text}
  </div>`;
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

interface MenuProps {
  /** The subject of the actions: `the key laptop`. */
  readonly of: string;
  /** Tells this menu from the others of the page. */
  readonly id: string;
  /** What each does, or where the file is that it downloads. */
  readonly items: readonly (readonly [title: string, act: (() => void) | string] | false)[];
  /** What the button says, if it is not one of a row. */
  readonly label?: string;
}

/** A button that opens a menu of what can be done with a row of a table, or with all of them, if anything. */
export function RowMenu({ of, id, items, label }: MenuProps) {
  const list = useRef<HTMLDivElement>(null);
  if (!items.some(Boolean)) return null;
  const choose = (act?: () => void): void => {
    // First, so that the focus returns here from a dialog that the choice opens.
    list.current?.hidePopover();
    act?.();
  };
  const renderItem = ([title, act]: readonly [string, (() => void) | string]) =>
    typeof act === 'string'
      ? html`<a href=${act} download onClick=${() => choose()}>${title}</a>`
      : html`<button class="quiet" onClick=${() => choose(act)}>${title}</button>`;
  const name = label === undefined ? `Actions for ${of}` : undefined;
  return html`<button class="quiet" aria-label=${name} title=${name && 'Actions'} popovertarget=${id}>
      ${label ?? '⋯'}
    </button>
    <div class="menu" popover id=${id} ref=${list}>${items.map((item) => item && renderItem(item))}</div>`;
}
