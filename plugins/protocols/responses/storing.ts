/** The option that keeps responses, and everything that it switches on. */
import { z } from 'zod';
import { GatewayError, type Host, type Route } from '../../../core/index.ts';
import type { KeyRing } from '../../shared/key-ring.ts';
import { Keeper } from './keeper.ts';
import { addRoutes, listResponseRoutes } from './stored-routes.ts';
import { declaration, Stored } from './stored.ts';

const units = { s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 };
const duration = z
  .string()
  .regex(/^[1-9]\d{0,5}[smhd]$/, 'a number and a unit: "90s", "30m", "1h" or "7d"')
  .transform((text) => {
    const [unit = 's'] = (['s', 'm', 'h', 'd'] as const).filter((each) => text.endsWith(each));
    return Number(text.slice(0, -1)) * units[unit];
  });

const megabyte = 1024 * 1024;

function buildBounds(responses: number, bytes: number) {
  return z
    .strictObject({
      responses: z.int().positive().default(responses),
      bytes: z.int().positive().default(bytes),
    })
    .prefault({});
}

export const storeOptions = z.strictObject({
  /** How long a response is kept after it was made or used last: `1h`. */
  for: duration,
  /** How much is kept. What was used longest ago makes room. */
  perAccount: buildBounds(10_000, 256 * megabyte),
  inAll: buildBounds(100_000, 2048 * megabyte),
});

export type StoreOptions = z.output<typeof storeOptions>;

/** Keeps responses, and serves them. Returns the function that gets what is kept. */
export function keepResponses(
  host: Host,
  { for: age, perAccount, inAll }: StoreOptions,
  getRing: () => KeyRing,
  encodeError: Route['encodeError'],
): () => Stored {
  let opened: { readonly stored: Stored; readonly keeper: Keeper } | undefined;
  const getStored = (): Stored => {
    if (opened) return opened.stored;
    throw new GatewayError('ledger_unavailable', 'Kept responses cannot be read yet; try again soon.', {
      retryAfter: 1,
    });
  };
  host.onApplied(() => {
    if (host.tables.find('ledger')) return;
    throw new Error(
      'option "store" needs a plugin that keeps tables: add balance(), or leave the option out',
    );
  });
  // After the tap that opens the ledger.
  host.hooks.ready.tapPromise({ name: 'responses', stage: 10 }, async () => {
    const tables = await host.tables.get('ledger').open(declaration);
    const stored = new Stored(tables, getRing, { age, perAccount, inAll });
    opened = { stored, keeper: new Keeper(stored, host) };
  });
  host.hooks.meter.tapPromise('responses', (end) => opened?.keeper.keep(end));
  host.hooks.close.tap('responses', () => {
    opened?.keeper.close();
    return undefined;
  });
  addRoutes(
    host,
    listResponseRoutes(getStored, ({ reply }) => reply),
    encodeError,
  );
  return getStored;
}
