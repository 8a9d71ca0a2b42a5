/** A gateway of this process as it is delivered, with more plugins. */
import { vi } from 'vitest';
import type { Plugin } from '../../core/index.ts';
import { overload } from '../../plugins/operations/overload.ts';
import { startGateway, type TestGateway } from './gateway.ts';

export async function startDelivered(...more: readonly Plugin[]): Promise<TestGateway> {
  vi.stubEnv('TOLLGATE_ADMIN_PORT', '0');
  const { default: config } = await import('../../gateway.config.ts');
  // This process works beside the gateway, on its tests: however long that takes, it is no overload.
  const plugins = config.plugins.map((plugin) =>
    plugin && plugin.name === 'overload' ? overload({ lag: 600_000 }) : plugin,
  );
  return startGateway({ plugins: [...plugins, ...more] });
}
