/**
 * A small gateway for one company: its own models at its own price, and nothing else. Start it with
 * `TOLLGATE_CONFIG=examples/in-house.config.ts IN_HOUSE_BASE_URL=http://127.0.0.1:8000/v1 npm start`.
 */
import { defineConfig } from 'tollgate';
import { bearer } from 'tollgate/plugins/auth/bearer';
import { balance } from 'tollgate/plugins/meters/balance';
import { chatCompletions } from 'tollgate/plugins/protocols/chat-completions';
import { inHouse } from './provider.ts';

export default defineConfig({
  dataFolder: process.env.TOLLGATE_DATA || './data',
  server: { port: Number(process.env.PORT || 8787) },
  plugins: [
    bearer(),
    chatCompletions(),
    inHouse({
      price: [
        { unit: 'input', rate: '0.20' },
        { unit: 'output', rate: '0.60' },
      ],
    }),
    balance({ whenShort: 'refuse' }),
  ],
});
