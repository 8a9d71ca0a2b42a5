/** Documents as stores know them. Each write replaces the version that its writer has read. */
import type { Documents, DocumentStore, StoredDocument } from '../../../core/index.ts';
import { count, text, type Row } from './rows.ts';
import type { Store } from './store.ts';

export function documentOf(row: Row): StoredDocument {
  return { version: count(row, 'version'), text: text(row, 'body') };
}

function documentsIn(store: Store): Documents {
  return {
    read: (name) => store.readDocument(name),
    write: (name, body, replaces) => store.writeDocument({ name, text: body, replaces }),
  };
}

/** The ledger's documents: in the running store, or in one that is opened for the work. */
export function documentStore(running: () => Store | undefined, open: () => Promise<Store>): DocumentStore {
  return {
    name: 'ledger',
    async use(work) {
      const store = running();
      if (store) return work(documentsIn(store));
      const opened = await open();
      try {
        return await work(documentsIn(opened));
      } finally {
        await opened.close();
      }
    },
  };
}
