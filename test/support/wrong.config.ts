/** A configuration with a mistake in it, for the test of what is said then. */
import { defineConfig } from '../../core/index.ts';
import { balance } from '../../plugins/meters/balance/index.ts';

export default defineConfig({ plugins: [balance(JSON.parse('{"fiel":"ledger.db"}'))] });
