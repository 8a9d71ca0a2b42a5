/** What the tests of a store share: accounts with credit, and calls that reserve. */
import type { Nano } from '../../core/index.ts';
import type { Quote, ReserveRequest, Store } from '../../plugins/meters/balance/store.ts';
import { quote } from '../balance/calls.ts';
import type { BookedEntry, OpenedStore } from './books.ts';

export interface Bench {
  account(credit: Nano): Promise<string>;
  reserve(id: string, account: string, ...quotes: Quote[]): ReturnType<Store['reserve']>;
  entriesOf(account: string): Promise<BookedEntry[]>;
  opened(): OpenedStore;
  store(): Store;
}

/** A request of one call for one quote. */
export function request(id: string, account: string, more: Partial<ReserveRequest> = {}): ReserveRequest {
  return { id, account, key: 'key-1', quotes: [quote(10n)], at: 1000, ...more };
}
