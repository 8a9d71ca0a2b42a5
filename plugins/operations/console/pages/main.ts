/**
 * The console for operators: the shell around the pages, and the page to sign in on.
 *
 * How to add a page: write `pages/<name>.ts` that exports a component as `Page`, and add a line to
 * `navigation.ts` with its path, its title and the component, which receives `place`: the parts of the
 * address after `#/`, and its query; `setQuery` of `kit.ts` changes the query, `bindQuery` binds a control to
 * it, `buildHref` makes links. `useData` and `useList` of `api.ts` load from the API, `call` changes things;
 * types of replies are in `plugins/shared/replies`. The parts of a page are functions in `parts.ts`,
 * `table.ts` and `form.ts`. Amounts are decimal strings, which `renderUsd` shows. `openDialog`, `openForm`
 * and `notify` show what comes above the page. `renderAction` and `buildActions` show what runs an operation
 * to those who may run it. Style sheets are in `style/`; classes are shared.
 */
import { Component } from 'preact';
import { call, endSession, session } from './api.ts';
import { renderForm } from './form.ts';
import { keepFocus, keepPosition, switchTheme, theme } from './kept.ts';
import {
  type ComponentChildren,
  closeDialog,
  dialog,
  effect,
  html,
  getMessage,
  render,
  useEffect,
  useRef,
  buildHref,
  place,
} from './kit.ts';
import { listPages, type Page, pages, openPalette } from './navigation.ts';
import { Dialog, renderProblem, runAction } from './parts.ts';

/** Most people have no operator secret, so this comes first where it can be had. */
const renderLink = (to: string) =>
  html`<p><a class="button primary" href=${to}>Sign in with your organisation</a></p>`;

function renderSignIn() {
  return html`<main class="sign-in">
    <h1>Tollgate</h1>
    ${session.value?.isOver && html`<p class="hint" role="alert">Your session has ended. Sign in again.</p>`}
    ${session.value?.signIn && renderLink(session.value.signIn)}
    <p class="dim">
      Sign in with the operator secret, which is in the file <code>operator-secret</code> of the data folder
      unless the configuration holds one, or with an operator key.
    </p>
    ${renderForm({
      fields: [{ name: 'secret', label: 'Operator secret or key', type: 'password', isRequired: true }],
      submit: 'Sign in',
      async send({ secret }) {
        session.value = await call('POST /console/session', {}, { secret });
      },
    })}
  </main>`;
}

/** Shows what went wrong in a page, and keeps the rest of the console usable. */
class Guarded extends Component<{ children: unknown; at: string }> {
  override state = { error: undefined, at: '' };

  override componentDidCatch(error: unknown): void {
    this.setState({ error, at: this.props.at });
  }

  render() {
    return this.state.error !== undefined && this.state.at === this.props.at
      ? renderProblem(`This page failed: ${getMessage(this.state.error)}`)
      : this.props.children;
  }
}

function Current() {
  const { path } = place.value;
  const page = pages.find((each) => each.path === (path[0] ?? ''));
  useEffect(() => {
    const subject = path[1] === undefined ? '' : `${path[1]} – `;
    document.title = `${subject}${page?.title ?? 'Not found'} – Tollgate`;
  }, [page, path[1]]);
  if (!page)
    return html`<p class="empty">Page not found. <a href=${buildHref('')}>Go to the overview.</a></p>`;
  const shown = html`<${page.View} place=${place.value} />`;
  return html`<${Guarded} at=${page.path} key=${page.path}>${shown}</${Guarded}>`;
}

/** Without a reply from the gateway the session goes on, and the page has to say so. */
const signOut = (): Promise<void> =>
  runAction(() => call('DELETE /console/session').then(() => endSession(false)));

function renderWho() {
  const { name, key, role, readOnly } = session.value ?? {};
  if (name !== undefined) return html`<p class="dim" title=${key}>${name} <br />${role}</p>`;
  return readOnly && html`<p class="dim">This key is read-only.</p>`;
}

function Navigation() {
  const current = place.value.path[0] ?? '';
  const links = useRef<HTMLDivElement>(null);
  // On a narrow screen the links are a row that scrolls.
  useEffect(() => {
    links.current?.querySelector('[aria-current]')?.scrollIntoView({ block: 'nearest', inline: 'nearest' });
  }, [current]);
  const renderPage = ({ path, title }: Page) =>
    html`<a href=${buildHref(path)} aria-current=${path === current ? 'page' : undefined}>${title}</a>`;
  return html`<nav aria-label="Pages">
    <a class="brand" href=${buildHref('')}>Tollgate</a>
    <div class="links" ref=${links}>${listPages().map(renderPage)}</div>
    <div class="foot">
      <button class="quiet" onClick=${openPalette}>Go to … <kbd>Ctrl K</kbd></button>
      <button class="quiet" onClick=${switchTheme}>Theme: ${theme}</button>
      <button class="quiet" onClick=${signOut}>Sign out</button>
      ${renderWho()}
    </div>
  </nav>`;
}

/** `/` goes to the filter of the page. */
function onKey(event: KeyboardEvent): void {
  const isTyping =
    event.target instanceof HTMLElement && event.target.closest('input, textarea, select') !== null;
  if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === 'k') {
    event.preventDefault();
    if (session.value?.signedIn) openPalette();
  } else if (event.key === '/' && !isTyping && !dialog.value) {
    const search = document.querySelector<HTMLInputElement>('main input[type=search]');
    if (search) event.preventDefault();
    search?.focus();
  }
}

function Shell() {
  const inner = session.value?.signedIn
    ? html`<a
          class="skip"
          href="#content"
          onClick=${(event: Event) => {
            event.preventDefault();
            document.getElementById('content')?.focus();
          }}
          >Skip to the page</a
        >
        <${Navigation} />
        <main class="page" id="content" tabindex="-1"><${Current} /></main>`
    : renderSignIn();
  return html`${inner}<${Dialog} />`;
}

window.addEventListener('keydown', onKey);
keepFocus();
keepPosition();
effect(() => {
  if (session.value?.signedIn === false) closeDialog();
});
const root = document.getElementById('app');
/** Draws over what the document shows until then. */
function draw(content: ComponentChildren): void {
  root?.replaceChildren();
  if (root) render(content, root);
}
try {
  session.value = await call('GET /console/session');
  draw(html`<${Shell} />`);
} catch (error) {
  draw(
    html`<main class="sign-in">
      ${renderProblem(new Error(getMessage(error)), () => window.location.reload())}
    </main>`,
  );
}
