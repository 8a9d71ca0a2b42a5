/** A configuration that asks for more connections than a process with few files can have. */
import { defineConfig } from '../../core/index.ts';
import { demo } from '../../plugins/providers/demo.ts';

export default defineConfig({ server: { port: Number(process.env['PORT']), maxConnections: 300 }, plugins: [demo()] });
