/** Lists of the API, which come in pages: the first is loaded with the page, the others on demand. */
import { address, api, useData, type Loaded, type Params } from './api.ts';
import { messageOf, notify, useEffect, useSignal } from './kit.ts';

export interface List<Row> {
  readonly data: readonly Row[];
  readonly next: string | number | null;
}

export interface LoadedList<Row> extends Omit<Loaded<List<Row>>, 'data'> {
  /** Undefined until the first page has come. */
  readonly rows: readonly Row[] | undefined;
  /** Loads the next page. Undefined at the end. */
  readonly more: (() => void) | undefined;
}

export function useList<Row>(path: string | undefined, params?: Params): LoadedList<Row> {
  const first = useData<List<Row>>(path, params);
  const further = useSignal<List<Row> | undefined>(undefined);
  const url = path === undefined ? '' : address(path, params);
  useEffect(() => {
    further.value = undefined;
  }, [url, first.data]);
  const last = further.value ?? first.data;
  const next = last?.next ?? null;
  const rows = first.data && [...first.data.data, ...(further.value?.data ?? [])];
  async function loadMore(): Promise<void> {
    if (path === undefined || next === null) return;
    try {
      const page = await api.get<List<Row>>(path, { ...params, after: next });
      further.value = { data: [...(further.value?.data ?? []), ...page.data], next: page.next };
    } catch (error) {
      notify(messageOf(error), true);
    }
  }
  return { ...first, rows, more: next === null ? undefined : () => void loadMore() };
}
