/** A gateway of a race: the store that `RACE_STORE` says, and one model that costs a dollar a call. */
import { defineConfig } from '../../core/index.ts';
import { bearer } from '../../plugins/auth/bearer.ts';
import { balance } from '../../plugins/meters/balance/index.ts';
import { chatCompletions } from '../../plugins/protocols/chat-completions/index.ts';
import { defineProvider } from '../../plugins/shared/kit.ts';

const vendor = defineProvider({
  name: 'race',
  env: { key: 'RACE_KEY', baseUrl: 'RACE_BASE_URL' },
  endpoints: { 'chat-completions': '/chat/completions' },
  models: new URL('race-models.json', import.meta.url),
});

const { PORT, TOLLGATE_DATA, RACE_STORE } = process.env;

export default defineConfig({
  server: { port: Number(PORT) },
  dataFolder: TOLLGATE_DATA ?? '',
  plugins: [
    bearer(),
    chatCompletions(),
    vendor(),
    balance({
      store: RACE_STORE === 'postgres' ? { kind: 'postgres' } : { kind: 'sqlite' },
      firstCredit: '0',
      whenShort: 'refuse',
    }),
  ],
});
