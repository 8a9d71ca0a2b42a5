/** What every page imports: templates, state, addresses, and what is shown above the page. */
import { signal } from '@preact/signals';
import htm from 'htm';
import { h, type ComponentChildren } from 'preact';

export { effect, signal, useSignal, type Signal } from '@preact/signals';
export { render, type ComponentChildren } from 'preact';
export { useEffect, useId, useLayoutEffect, useMemo, useRef } from 'preact/hooks';

/** Builds elements from HTML in a template: html`<p>${text}</p>`. Values are always text, never markup. */
export const html = htm.bind(h);

/** A listener that takes the text of an input. */
export function takeText(take: (text: string) => void) {
  return ({ currentTarget }: { readonly currentTarget: { readonly value: string } }): void =>
    take(currentTarget.value);
}

interface Dialog {
  readonly title: string;
  readonly body: ComponentChildren;
  /** The palette shows neither its title nor a button that closes it; a wide dialog has room for a table. */
  readonly style: 'titled' | 'wide' | 'palette';
}

/** The dialog that is open, if any. */
export const dialog = signal<Dialog | undefined>(undefined);

export function openDialog(title: string, body: ComponentChildren, style: Dialog['style'] = 'titled'): void {
  dialog.value = { title, body, style };
}

export function closeDialog(): void {
  dialog.value = undefined;
}

/** A line at the bottom of the page that disappears after a while; screen readers read it aloud. */
export const notice = signal<{ readonly text: string; readonly isError: boolean } | undefined>(undefined);
/** Characters. A message may repeat what was typed, and would cover the page. */
const longestNotice = 400;
let hiding: ReturnType<typeof setTimeout> | undefined;

export function notify(text: string, isError = false): void {
  clearTimeout(hiding);
  notice.value = { text: text.length > longestNotice ? `${text.slice(0, longestNotice)} …` : text, isError };
  hiding = setTimeout(() => (notice.value = undefined), isError ? 8000 : 3000);
}

export function getMessage(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** Copies text, and confirms it. */
export async function copyText(text: string, what = 'Copied'): Promise<void> {
  try {
    await navigator.clipboard.writeText(text);
    notify(what);
  } catch {
    notify('The browser does not allow copying here. Select the text and copy it yourself.', true);
  }
}

export function saveFile(name: string, text: string): void {
  const url = URL.createObjectURL(new Blob([text], { type: 'text/csv;charset=utf-8' }));
  const link = Object.assign(document.createElement('a'), { href: url, download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}

export type Params = Readonly<Record<string, string | number | boolean | null | undefined>>;

/** A path with its query. Empty parameters are left out. */
export function buildAddress(path: string, params: Params = {}): string {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(params))
    if (value !== undefined && value !== null && value !== '') query.set(name, String(value));
  const text = query.toString();
  return text === '' ? path : `${path}?${text}`;
}

export interface Place {
  /** `['calls', 'req_1']` */
  readonly path: readonly string[];
  readonly query: Readonly<Record<string, string>>;
}

function unescapePart(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

function readPlace(): Place {
  const [path = '', query = ''] = window.location.hash.replace(/^#\/?/, '').split('?');
  return {
    path: path.split('/').filter(Boolean).map(unescapePart),
    query: Object.fromEntries(new URLSearchParams(query)),
  };
}

export const place = signal(readPlace());
window.addEventListener('hashchange', () => {
  // A link in a dialog, or a step back, leads to a page that the dialog would cover.
  closeDialog();
  place.value = readPlace();
});

/** The link to a page. Its parts are escaped: href('calls', id). */
export function buildHref(path: string | readonly string[], params?: Params): string {
  const parts = typeof path === 'string' ? [path] : path;
  return buildAddress(`#/${parts.map(encodeURIComponent).join('/')}`, params);
}

export function go(path: string | readonly string[], params?: Params): void {
  window.location.hash = buildHref(path, params);
}

/** Changes the query of the page, without a step in the history. */
export function setQuery(changes: Params): void {
  const { path, query } = place.value;
  window.history.replaceState(window.history.state, '', buildHref(path, { ...query, ...changes }));
  place.value = readPlace();
}
