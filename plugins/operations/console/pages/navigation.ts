/** The pages of the console, in the order of the navigation. */
import type { Place } from './router.ts';

export interface Page {
  /** The first part of its address. */
  readonly path: string;
  readonly title: string;
  load(): Promise<{ readonly Page: (props: { readonly place: Place }) => unknown }>;
}

export const pages: readonly Page[] = [
  { path: '', title: 'Overview', load: () => import('./overview.ts') },
  { path: 'calls', title: 'Calls', load: () => import('./calls.ts') },
  { path: 'accounts', title: 'Accounts and keys', load: () => import('./accounts.ts') },
  { path: 'models', title: 'Models', load: () => import('./models.ts') },
  { path: 'providers', title: 'Providers', load: () => import('./providers.ts') },
  { path: 'crossing', title: 'Translation', load: () => import('./crossing.ts') },
  { path: 'playground', title: 'Playground', load: () => import('./playground.ts') },
  { path: 'configuration', title: 'Configuration', load: () => import('./configuration.ts') },
];
