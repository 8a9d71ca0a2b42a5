/** The option that keeps responses, and everything that it switches on. */
import { z } from 'zod';
import { GatewayError, type Host, type Route } from '../../../core/index.ts';
import type { KeyRing } from '../../shared/key-ring.ts';
import { Background } from './background.ts';
import { ResponsesCall } from './call.ts';
import { listConversationRoutes } from './conversations.ts';
import { Keeper } from './keeper.ts';
import { addOperations } from './stored-operations.ts';
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

interface StoringParts {
  readonly getRing: () => KeyRing;
  readonly encodeError: Route['encodeError'];
  /** Throws `invalid_request` if a conversation cannot hold these items. */
  check(input: unknown): void;
}

/** Keeps responses, and serves them. Returns the function that gets what is kept. `check` reads items. */
export function keepResponses(
  host: Host,
  { for: age, perAccount, inAll }: StoreOptions,
  { getRing, encodeError, check }: StoringParts,
): () => Stored {
  const { hooks, tables, onApplied } = host;
  let opened:
    | { readonly stored: Stored; readonly keeper: Keeper; readonly background: Background }
    | undefined;
  const getOpened = (): NonNullable<typeof opened> => {
    if (opened) return opened;
    throw new GatewayError('ledger_unavailable', 'Stored responses cannot be read yet; try again soon.', {
      retryAfter: 1,
    });
  };
  const getStored = (): Stored => getOpened().stored;
  onApplied(() => {
    if (tables.find('ledger')) return;
    throw new Error(
      'option "store" needs a plugin that keeps tables: add balance(), or leave the option out',
    );
  });
  // After the tap that opens the ledger.
  hooks.ready.tapPromise({ name: 'responses', stage: 10 }, async () => {
    const opening = await tables.get('ledger').open(declaration);
    const stored = new Stored(opening, getRing, { age, perAccount, inAll });
    const keeper = new Keeper(stored, host);
    opened = { stored, keeper, background: new Background(stored, keeper, host) };
  });
  hooks.replay.tapPromise('responses', (parsed) => {
    const { call, operation } = parsed;
    if (!(call instanceof ResponsesCall) || !call.settings.background || operation !== 'generate')
      return undefined;
    return getOpened().background.start(parsed, call);
  });
  hooks.meter.tapPromise('responses', (end) =>
    opened?.background.isRunning(end.exchange.id) ? undefined : opened?.keeper.keep(end),
  );
  hooks.close.tapPromise('responses', async () => {
    opened?.keeper.close();
    await opened?.background.close();
  });
  const served = listResponseRoutes(getStored, () => getOpened().background);
  addRoutes(host, [...served, ...listConversationRoutes(getStored, check)], encodeError);
  addOperations(host);
  return getStored;
}
