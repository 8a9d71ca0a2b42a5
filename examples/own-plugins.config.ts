/**
 * A gateway with one plugin of each kind and the middleware from this folder, and the demo model. Start it
 * with `TOLLGATE_CONFIG=examples/own-plugins.config.ts npm start`, and call it with the key that it prints:
 * `curl --user me:$KEY http://127.0.0.1:8787/ask --json '{"model":"demo/echo","ask":"Hello!"}'`
 */
import { defineConfig } from 'tollgate';
import { balance } from 'tollgate/plugins/meters/balance';
import { chatCompletions } from 'tollgate/plugins/protocols/chat-completions';
import { demo } from 'tollgate/plugins/providers/demo';
import { basic } from './auth.ts';
import { cache } from './cache.ts';
import { guard } from './guard.ts';
import { allowance } from './meter.ts';
import { hidePath, nameServer } from './middleware.ts';
import { ask } from './protocol.ts';
import { inHouse } from './provider.ts';
import { prices } from './route.ts';
import { confine } from './routing.ts';
import { spending } from './spending.ts';

export default defineConfig({
  dataFolder: process.env.TOLLGATE_DATA || './data',
  server: { port: Number(process.env.PORT || 8787) },
  middleware: [nameServer, hidePath('/metrics')],
  // The demo model and the provider of `provider.ts` speak chat-completions.
  plugins: [
    basic(),
    ask(),
    chatCompletions(),
    inHouse({ free: true }),
    demo(),
    prices(),
    confine({ accounts: ['confidential'], providers: ['in-house'] }),
    allowance({ tokensPerDay: 1000 }),
    spending(),
    guard({ words: ['hunter2'] }),
    cache({ keep: 60 }),
    balance(),
  ],
});
