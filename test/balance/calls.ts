/** Calls as the ledger sees them, for tests that need nothing else of a call. */
import type { Nano } from '../../core/index.ts';
import { toKeyId } from '../../plugins/meters/balance/keys.ts';
import { createStore } from '../../plugins/meters/balance/operations.ts';
import type {
  KeyRecord,
  NewKey,
  Progress,
  Quote,
  Settlement,
  Store,
} from '../../plugins/meters/balance/store.ts';
import { hashSecret } from '../../plugins/shared/secret.ts';

/** A price of one nano-USD a token, which calls here are charged at. */
export const price = { version: 'price-1', rates: '{"input":"0.001","output":"0.001"}', at: 1 };

/** Opens an account with credit, whose calls are charged at that price. */
export async function openAccount(store: Store, name: string, amount: Nano): Promise<void> {
  await store.definePrice(price);
  await store.createAccount({ name, at: 1 });
  await store.addCredit({ account: name, amount, kind: 'bonus', reference: undefined, at: 1 });
}

/** A call whose input alone is the least it can cost. */
export function quote(least: Nano, most = least): Quote {
  return {
    model: 'house/model',
    provider: 'house',
    price: price.version,
    least,
    most,
    input: Number(least),
    owed: least,
  };
}

/** Usage that costs this much at that price. */
function buildFigures(amount: Nano): { input: number; output: number; usage: string; costs: string } {
  const input = Number(amount);
  return { input, output: 0, usage: JSON.stringify({ input, output: 0 }), costs: '[]' };
}

const request = { model: 'house/model', provider: 'house', price: price.version, attempts: 1 };

export function settlement(id: string, amount: Nano | undefined, more: Partial<Settlement> = {}): Settlement {
  return {
    ...request,
    ...buildFigures(amount ?? 0n),
    id,
    amount,
    reason: amount === undefined ? 'upstream_failed' : 'completed',
    basis: amount === undefined ? 'none' : 'usage',
    suspect: false,
    at: 2000,
    ...more,
  };
}

/** The progress of a call that would cost this much if it ended now. */
export function progress(id: string, owed: Nano, more: Partial<Progress> = {}): Progress {
  return { ...request, ...buildFigures(owed), id, owed, sent: true, delivered: 10, ...more };
}

export function newKey(id: string, account: string | undefined, more: Partial<NewKey> = {}): NewKey {
  const kind = account === undefined ? 'operator' : 'user';
  return {
    id,
    hash: id.padEnd(64, '0'),
    lastFour: id.slice(-4),
    name: '',
    kind,
    account,
    tags: [],
    readOnly: false,
    at: 5,
    ...more,
  };
}

/** The record of a secret that has not been used. */
export function keyRecord(secret: string, more: Partial<KeyRecord> = {}): KeyRecord {
  const hash = hashSecret(secret);
  return {
    spendCap: undefined,
    models: undefined,
    expires: undefined,
    callsPerMinute: undefined,
    networks: undefined,
    protocols: undefined,
    operations: undefined,
    tags: [],
    readOnly: false,
    id: toKeyId(hash),
    hash,
    lastFour: secret.slice(-4),
    name: '',
    kind: 'user',
    account: 'someone',
    holder: undefined,
    disabled: false,
    accountState: 'open',
    teams: [],
    created: 0,
    used: 0n,
    pending: 0n,
    root: toKeyId(hash),
    rotatedTo: undefined,
    ...more,
  };
}

/** A store that does only what a test says, and fails the test when it calls anything else. */
export function buildStore(operations: Partial<Store>): Store {
  const throwUnasked = async (): Promise<never> => {
    throw new Error('the store was asked for what it should not be');
  };
  const rest = { owner: 'test', findFault: () => undefined, audit: throwUnasked, close: throwUnasked };
  return { ...createStore(throwUnasked, rest), ...operations };
}
