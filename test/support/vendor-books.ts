/** A gateway with a fake of every vendor, and its ledger with a key. They last for the tests of one file. */
import { beforeAll } from 'vitest';
import { openBooks } from './books.ts';
import { openVendorHarness, type VendorHarness } from './vendor-harness.ts';

type Books = Awaited<ReturnType<typeof openBooks>> & { readonly harness: VendorHarness };

export let books: Books;

export function useVendorBooks(): void {
  beforeAll(async () => {
    const harness = await openVendorHarness();
    books = { harness, ...(await openBooks(harness.gateway)) };
  });
}
