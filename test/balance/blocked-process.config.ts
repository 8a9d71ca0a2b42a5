/** A gateway whose event loop a test can block, with a lease and a ledger of the test's choosing. */
import { z } from 'zod';
import { defineConfig, definePlugin } from '../../core/index.ts';
import { bearer } from '../../plugins/auth/bearer.ts';
import { balance } from '../../plugins/meters/balance/index.ts';
import { chatCompletions } from '../../plugins/protocols/chat-completions/index.ts';
import { openai } from '../../plugins/providers/openai.ts';

const { PORT, TOLLGATE_DATA, BLOCKED_LEASE, BLOCKED_LEDGER } = process.env;

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

const store = BLOCKED_LEDGER ? { kind: 'postgres' as const, url: BLOCKED_LEDGER, connections: 1 } : undefined;

export default defineConfig({
  server: { port: Number(PORT) },
  dataFolder: TOLLGATE_DATA ?? '',
  plugins: [
    bearer(),
    chatCompletions(),
    openai(),
    block(),
    balance({ firstCredit: '0', lease: Number(BLOCKED_LEASE), ...(store ? { store } : {}) }),
  ],
});
