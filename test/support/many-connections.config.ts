/** A configuration that needs more connections than a process may have where its limit of files is low. */
import { defineConfig } from '../../core/index.ts';
import { demo } from '../../plugins/providers/demo.ts';

export default defineConfig({
  server: { port: Number(process.env.PORT), maxConnections: 300 },
  plugins: [demo()],
});
