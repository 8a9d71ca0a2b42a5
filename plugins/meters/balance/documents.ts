/**
 * Documents that other plugins keep in the ledger. Each write replaces the version that its writer has read.
 */
import type { Documents, DocumentStore, StoredDocument } from '../../../core/index.ts';
import { readCount, readText, type Row } from './rows.ts';
import type { Store } from './store.ts';

export function readDocument(row: Row): StoredDocument {
  return { version: readCount(row, 'version'), text: readText(row, 'body') };
}

function createDocuments(store: Store): Documents {
  return {
    read: (name) => store.readDocument(name),
    write: (name, body, replaces) => store.writeDocument({ name, text: body, replaces }),
  };
}

/** The ledger's documents: in the running store, or in one that is opened for the work. */
export function createDocumentStore(
  running: () => Store | undefined,
  open: () => Promise<Store>,
): DocumentStore {
  return {
    name: 'ledger',
    async use(work) {
      const store = running();
      if (store) return work(createDocuments(store));
      const opened = await open();
      try {
        return await work(createDocuments(opened));
      } finally {
        await opened.close();
      }
    },
  };
}
