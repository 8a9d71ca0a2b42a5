/**
 * Addresses of pages: `#/calls?model=x`. They follow a `#`, so they never collide with addresses of
 * the API, and every state of a page can be kept as a link.
 */
import { signal } from '@preact/signals';
import { buildAddress, type Params } from './api.ts';

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
window.addEventListener('hashchange', () => (place.value = readPlace()));

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
