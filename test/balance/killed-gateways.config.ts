/** A gateway that a test kills: the plugins that a paid call needs, one that keeps
 * tables beside the money, and a lease of the test's choosing. */
import { defineConfig } from '../../core/index.ts';
import { spending } from '../../examples/spending.ts';
import { bearer } from '../../plugins/auth/bearer.ts';
import { balance } from '../../plugins/meters/balance/index.ts';
import { chatCompletions } from '../../plugins/protocols/chat-completions/index.ts';
import { openai } from '../../plugins/providers/openai.ts';
import { preferences } from '../../plugins/routing/preferences.ts';

const { PORT, TOLLGATE_DATA, KILLS_LEASE, KILLS_SETTLE } = process.env;
const settle = KILLS_SETTLE === 'after-reply' ? KILLS_SETTLE : 'before-reply';

export default defineConfig({
  server: { port: Number(PORT) },
  dataFolder: TOLLGATE_DATA ?? '',
  plugins: [
    bearer(),
    chatCompletions(),
    openai(),
    preferences(),
    spending(),
    balance({ firstCredit: '0', lease: Number(KILLS_LEASE), settle }),
  ],
});
