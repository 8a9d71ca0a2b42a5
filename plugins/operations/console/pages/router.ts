/**
 * Addresses of pages: `#/calls?model=x`. They follow a `#`, so they never collide with addresses of
 * the API, and every state of a page can be kept as a link.
 */
import { signal } from '@preact/signals';
import { address, type Params } from './api.ts';

export interface Place {
  /** `['calls', 'req_1']` */
  readonly path: readonly string[];
  readonly query: Readonly<Record<string, string>>;
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

function read(): Place {
  const [path = '', query = ''] = window.location.hash.replace(/^#\/?/, '').split('?');
  return {
    path: path.split('/').filter(Boolean).map(decoded),
    query: Object.fromEntries(new URLSearchParams(query)),
  };
}

export const place = signal(read());
window.addEventListener('hashchange', () => (place.value = read()));

/** The link to a page. Its parts are escaped: href('calls', id). */
export function href(path: string | readonly string[], params?: Params): string {
  const parts = typeof path === 'string' ? [path] : path;
  return address(`#/${parts.map(encodeURIComponent).join('/')}`, params);
}

export function go(path: string | readonly string[], params?: Params): void {
  window.location.hash = href(path, params);
}

/** Changes the query of the page, without a step in the history. */
export function setQuery(changes: Params): void {
  const { path, query } = place.value;
  window.history.replaceState(null, '', href(path, { ...query, ...changes }));
  place.value = read();
}
