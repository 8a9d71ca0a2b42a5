/** A configuration that needs more connections than a process may have under a low limit of open files. */
import { defineConfig } from '../../core/index.ts';
import { demo } from '../../plugins/providers/demo.ts';

export default defineConfig({
  server: { port: Number(process.env.PORT), maxConnections: 300 },
  plugins: [demo()],
});
