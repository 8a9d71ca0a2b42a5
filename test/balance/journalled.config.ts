/**
 * A gateway on a ledger that it shares with others: the plugins that a paid call needs, one that keeps tables
 * beside the money, and a lease, a store and a way to settle of the test's choosing. A test can block its
 * event loop.
 */
import { z } from 'zod';
import { defineConfig, definePlugin } from '../../core/index.ts';
import { spending } from '../../examples/spending.ts';
import { bearer } from '../../plugins/auth/bearer.ts';
import { balance } from '../../plugins/meters/balance/index.ts';
import { chatCompletions } from '../../plugins/protocols/chat-completions/index.ts';
import { openai } from '../../plugins/providers/openai.ts';
import { preferences } from '../../plugins/routing/preferences.ts';

const { PORT, TOLLGATE_DATA, JOURNALLED_LEASE, JOURNALLED_LEDGER, JOURNALLED_SETTLE } = process.env;
const settle = JOURNALLED_SETTLE === 'after-reply' ? JOURNALLED_SETTLE : 'before-reply';
const store = JOURNALLED_LEDGER && { kind: 'postgres' as const, url: JOURNALLED_LEDGER, connections: 1 };

/** `GET /block?milliseconds=…` blocks the event loop for that long. */
const block = definePlugin({
  name: 'block',
  options: z.strictObject({}),
  apply: ({ routes }) =>
    routes.add({
      name: 'block',
      method: 'GET',
      path: '/block',
      access: 'public',
      encodeError: (error) => ({ status: 500, body: String(error) }),
      async handle({ query }) {
        // Asleep, so that it takes no processor time from other tests.
        Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, Number(query.get('milliseconds')));
        return { status: 204, body: undefined };
      },
    }),
});

export default defineConfig({
  server: { port: Number(PORT) },
  dataFolder: TOLLGATE_DATA ?? '',
  plugins: [
    bearer(),
    chatCompletions(),
    openai(),
    preferences(),
    spending(),
    block(),
    balance({ firstCredit: '0', lease: Number(JOURNALLED_LEASE), settle, ...(store ? { store } : {}) }),
  ],
});
