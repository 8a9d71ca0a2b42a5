/**
 * A gateway on each of several machines, with one ledger for all of them in PostgreSQL. Start it on each with
 * `TOLLGATE_CONFIG=examples/several-machines.config.ts
 * TOLLGATE_LEDGER_URL=postgres://user:password@host:5432/name npm start`.
 */
import { defineConfig } from 'tollgate';
import { bearer } from 'tollgate/plugins/auth/bearer';
import { balance } from 'tollgate/plugins/meters/balance';
import { prometheus } from 'tollgate/plugins/operations/prometheus';
import { chatCompletions } from 'tollgate/plugins/protocols/chat-completions';
import { demo } from 'tollgate/plugins/providers/demo';
import { openai } from 'tollgate/plugins/providers/openai';

export default defineConfig({
  dataFolder: process.env.TOLLGATE_DATA || './data',
  server: { port: Number(process.env.PORT || 8787), host: process.env.HOST || '127.0.0.1' },
  // The address of the database holds a password, so it is in the environment: TOLLGATE_LEDGER_URL.
  plugins: [
    bearer(),
    chatCompletions(),
    openai(),
    demo(),
    balance({ store: { kind: 'postgres' } }),
    prometheus(),
  ],
});
