/** A configuration with a mistake, for the test of the error message. */
import { defineConfig } from '../../core/index.ts';
import { balance } from '../../plugins/meters/balance/index.ts';

export default defineConfig({ plugins: [balance(JSON.parse('{"fiel":"ledger.db"}'))] });
