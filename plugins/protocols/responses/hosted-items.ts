/**
 * What a vendor ran itself, as an item of this wire: as it came where the vendor speaks it, else a search, a picture
 * or code. The wire tells of each in steps, which are told in one go here, since it is known whole by then.
 */
import type { CanonicalEvent } from '../../../core/index.ts';
import { isObject, type Fields } from '../../shared/wire-kit/vendor-bag.ts';
import { bag } from './bag.ts';
import type { ItemEvent } from './encode-output-items.ts';

type Start = Extract<CanonicalEvent, { type: 'block-start' }>;

/** Undefined for what this wire has no item for: sound, and tools of other vendors. */
export function encodeHostedItem(
  start: Start,
  text: string,
  makeId: (prefix: string) => string,
  logs?: string,
): Fields | undefined {
  const { item } = bag.fields(start);
  if (isObject(item)) return start.kind === 'image' ? { ...item, result: text } : item;
  if (start.kind === 'image' && text !== '') {
    return {
      id: makeId('ig'),
      type: 'image_generation_call',
      status: 'completed',
      output_format: start.mediaType?.replace(/^image\//, '') ?? 'png',
      result: text,
    };
  }
  if (start.kind === 'code')
    return {
      id: makeId('ci'),
      type: 'code_interpreter_call',
      status: 'completed',
      code: text,
      container_id: '',
      outputs: logs === undefined ? [] : [{ type: 'logs', logs }],
    };
  if (start.kind === 'server-tool' && start.name?.includes('search'))
    return { id: makeId('ws'), type: 'web_search_call', status: 'completed', action: readSearchAction(text) };
  return undefined;
}

function readSearchAction(text: string): Fields {
  try {
    const asked: unknown = JSON.parse(text);
    if (isObject(asked)) return { type: 'search', ...asked };
  } catch {
    // A query that is no JSON is the text itself.
  }
  return { type: 'search', query: text };
}

const working: ReadonlyMap<string, string> = new Map([
  ['web_search_call', 'searching'],
  ['file_search_call', 'searching'],
  ['image_generation_call', 'generating'],
  ['code_interpreter_call', 'interpreting'],
]);

interface Progress {
  /** The item as it stood when it began. */
  readonly begun: Fields;
  readonly before: readonly ItemEvent[];
  readonly after: readonly ItemEvent[];
}

/** The steps of an item, for kinds that have any. */
export function planProgress(item: Fields): Progress {
  const type = String(item.type);
  const step = working.get(type);
  const emptied = {
    ...('result' in item ? { result: null } : {}),
    ...('code' in item ? { code: '', outputs: [] } : {}),
  };
  const begun = { ...item, ...emptied, status: 'in_progress' };
  if (step === undefined) return { begun, before: [], after: [] };
  const { code } = item;
  const written = type === 'code_interpreter_call' && typeof code === 'string';
  const codeEvents: ItemEvent[] = written
    ? [
        { type: 'response.code_interpreter_call_code.delta', delta: code },
        { type: 'response.code_interpreter_call_code.done', code },
      ]
    : [];
  return {
    begun,
    before: [{ type: `response.${type}.in_progress` }, ...codeEvents],
    after: [{ type: `response.${type}.${step}` }, { type: `response.${type}.completed` }],
  };
}
