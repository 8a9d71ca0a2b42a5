/** The key of the playground, kept in the page's memory: pasted, or made for an hour with a small cap. */
import { call, mayChange, session, useData } from './api.ts';
import { renderChoice } from './controls.ts';
import { renderForm, keepTyped, type Values } from './form.ts';
import { effect, html, notify, signal, useSignal } from './kit.ts';
import { renderBadge, renderProblem } from './parts.ts';
import { buildHref } from './router.ts';

export const playgroundKey = signal('');
effect(() => {
  // The next operator of this browser gets no key of the last one.
  if (session.value?.signedIn === false) playgroundKey.value = '';
});

const lifetime = 3_600_000;

async function createKey({ account, spendCap }: Values): Promise<void> {
  const expires = new Date(Date.now() + lifetime).toISOString();
  const order = { account, name: 'Playground', limits: { expires, ...keepTyped('spendCap', spendCap) } };
  const { key } = await call('POST /admin/keys', {}, order);
  playgroundKey.value = key;
  notify('A key for one hour was made');
}

async function pasteKey({ key = '' }: Values): Promise<void> {
  playgroundKey.value = key;
}

const ways = [
  ['create', 'Make a key for an hour'],
  ['paste', 'Paste a key'],
] as const;

export function KeyChooser() {
  const way = useSignal(mayChange() ? 'create' : 'paste');
  const accounts = useData('GET /admin/accounts', { limit: 1000 });
  if (playgroundKey.value !== '')
    return html`<p>
      ${renderBadge('key ready', 'good')} <code>…${playgroundKey.value.slice(-4)}</code>
      <button class="quiet" onClick=${() => (playgroundKey.value = '')}>Use another</button>
    </p>`;
  const names = accounts.data?.data.map(({ account }) => account) ?? [];
  const paste = {
    fields: [
      {
        name: 'key',
        label: 'Key',
        type: 'password',
        isRequired: true,
        hint: 'Never stored: it stays in this page.',
      },
    ],
    submit: 'Use this key',
    send: pasteKey,
  } as const;
  const create = {
    fields: [
      { name: 'account', label: 'Account', type: 'select', options: names, isRequired: true },
      { name: 'spendCap', label: 'At most (USD)', value: '1' },
    ],
    submit: 'Make a key',
    send: createKey,
  } as const;
  const noAccount = html`<p>
    There is no account yet. <a href=${buildHref('accounts')}>Create the first one.</a>
  </p>`;
  return html`<section class="card" aria-label="Key">
    <p>Calls of the playground are real: they need a key, and its account pays.</p>
    ${renderProblem(accounts.error, accounts.reload)} ${mayChange() && renderChoice('Key', ways, way)}
    ${way.value === 'paste' && renderForm(paste, 'paste')}
    ${way.value === 'create' && names.length > 0 && renderForm(create, `create ${names.length}`)}
    ${way.value === 'create' && accounts.data?.data.length === 0 && noAccount}
  </section>`;
}
