/** A gateway with the plugin, to try it: `npm run try`. */
import { defineConfig } from 'tollgate';
import { bearer } from 'tollgate/plugins/auth/bearer';
import { balance } from 'tollgate/plugins/meters/balance';
import { chatCompletions } from 'tollgate/plugins/protocols/chat-completions';
import { demo } from 'tollgate/plugins/providers/demo';
import { myPlugin } from './source/index.ts';

export default defineConfig({
  dataFolder: process.env.TOLLGATE_DATA || './data',
  plugins: [bearer(), chatCompletions(), demo(), myPlugin(), balance()],
});
