/** The key of the playground, kept in the page's memory: pasted, or made for an hour with a small cap. */
import { api, session, useData } from './api.ts';
import { Form, type Values } from './form.ts';
import { html, notify, signal, useSignal } from './kit.ts';
import { Badge, Choice } from './parts.ts';

export const playgroundKey = signal('');

interface Accounts {
  readonly data: readonly { readonly account: string }[];
}

const lifetime = 3_600_000;

async function createKey({ account = '', spendCap = '' }: Values): Promise<void> {
  const expires = new Date(Date.now() + lifetime).toISOString();
  const order = { account, name: 'Playground', limits: { expires, ...(spendCap ? { spendCap } : {}) } };
  const { key } = await api.post<{ readonly key: string }>('/admin/keys', order);
  playgroundKey.value = key;
  notify('A key for one hour was made');
}

export function KeyChooser() {
  const way = useSignal(session.value?.readOnly ? 'paste' : 'create');
  const accounts = useData<Accounts>('/admin/accounts', { limit: 1000 });
  if (playgroundKey.value !== '')
    return html`<p>
      <${Badge} tone="good">key ready</${Badge}> <code>…${playgroundKey.value.slice(-4)}</code>
      <button class="quiet" onClick=${() => (playgroundKey.value = '')}>Use another</button>
    </p>`;
  const names = accounts.data?.data.map(({ account }) => account) ?? [];
  return html`<section class="card" aria-label="Key">
    <p>Calls of the playground are real: they need a key, and its account pays.</p>
    ${
      !session.value?.readOnly &&
      html`<${Choice}
        label="Key"
        options=${[
          ['create', 'Make a key for an hour'],
          ['paste', 'Paste a key'],
        ]}
        value=${way.value}
        onChange=${(value: string) => (way.value = value)}
      />`
    }
    ${
      way.value === 'paste'
        ? html`<${Form}
            key="paste"
            fields=${[
              {
                name: 'key',
                label: 'Key',
                type: 'password',
                isRequired: true,
                hint: 'It stays in this page.',
              },
            ]}
            submit="Use this key"
            onSubmit=${async ({ key = '' }: Values) => {
              playgroundKey.value = key;
            }}
          />`
        : html`<${Form}
            key=${`create ${names.length}`}
            fields=${[
              { name: 'account', label: 'Account', type: 'select', options: names, isRequired: true },
              { name: 'spendCap', label: 'At most (USD)', value: '1' },
            ]}
            submit="Make a key"
            onSubmit=${createKey}
          />`
    }
  </section>`;
}
