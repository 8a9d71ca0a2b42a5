/** A heartbeat on a store of mocks. */
import { beforeEach, vi } from 'vitest';
import type { Store } from '../../plugins/meters/balance/store.ts';
import { buildStore } from './calls.ts';

export const beat = vi.fn<Store['beat']>();
export const owners = vi.fn<Store['listOwners']>();
export const recover = vi.fn<Store['recover']>();
let fault: Error | undefined;
export const store: Store = {
  ...buildStore({ beat, listOwners: owners, recover }),
  owner: 'me',
  findFault: () => fault,
};
export const recovered: string[] = [];

/** The ledger reports a fault from now on. */
export function breakStore(): void {
  fault = new Error('disk full');
}

export function resetStore(): void {
  beforeEach(() => {
    for (const operation of [beat, owners, recover]) operation.mockReset();
    owners.mockResolvedValue([]);
    recover.mockResolvedValue([]);
    fault = undefined;
    recovered.length = 0;
  });
}
