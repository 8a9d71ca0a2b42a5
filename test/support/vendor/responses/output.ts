/** The items of a reply: how each begins, how it ends, and the events in between. */
import type { Seals } from '../seal.ts';
import { placeCitations, streamCallFragments, type Speech } from '../speech.ts';
import { encryptFor } from './encryption.ts';

/** What an event says besides its type, its number and its place. */
interface ItemEvent {
  readonly type: string;
  readonly data: Readonly<Record<string, unknown>>;
  readonly tokens: number;
  /** Which of several interleaved items it belongs to. */
  readonly item: number;
}

/** Items whose events may mix: one, except for parallel calls. */
export interface ItemGroup {
  readonly items: readonly { readonly id: string; readonly start: object; readonly whole: object }[];
  readonly events: readonly ItemEvent[];
}

export interface Wanted {
  /** Encrypted content in the reasoning items. */
  readonly encrypted: boolean;
  readonly summary: boolean;
  readonly logprobs: number | undefined;
  readonly sources: boolean;
  readonly interleaved: boolean;
  /** The namespaces of tools, by the tools' names. */
  readonly namespaces: ReadonlyMap<string, string>;
}

type Data = Readonly<Record<string, unknown>>;

function event(type: string, data: Data = {}, tokens = 0, item = 0): ItemEvent {
  return { type: `response.${type}`, data, tokens, item };
}

function buildReasoningItem(
  { reasoning, sealed }: Speech,
  id: string,
  wanted: Wanted,
  seals: Seals,
): ItemGroup {
  const shown = wanted.summary && !sealed;
  const content = (): object => (wanted.encrypted ? { encrypted_content: encryptFor(id, seals) } : {});
  const text = reasoning.join('');
  const head = { id, type: 'reasoning' };
  const place = { summary_index: 0 };
  const part = (said: string): object => ({ type: 'summary_text', text: said });
  const events = [
    event('reasoning_summary_part.added', { ...place, part: part('') }),
    ...reasoning.map((delta) => event('reasoning_summary_text.delta', { ...place, delta, padded: true }, 1)),
    event('reasoning_summary_text.done', { ...place, text }),
    event('reasoning_summary_part.done', { ...place, part: part(text) }),
  ];
  return {
    items: [
      {
        id,
        start: { ...head, ...content(), summary: [] },
        whole: { ...head, ...content(), summary: shown ? [part(text)] : [] },
      },
    ],
    events: shown ? events : [],
  };
}

function buildLogprob(token: string, top: number): object {
  const entry = { token, logprob: -0.25, bytes: [...Buffer.from(token)] };
  return { ...entry, top_logprobs: Array.from({ length: top }, () => entry) };
}

function buildTextItem(speech: Speech, id: string, { logprobs }: Wanted): ItemGroup {
  const words = speech.text ?? [];
  const text = words.join('');
  const buildLogprobs = (of: readonly string[]): object[] =>
    logprobs === undefined ? [] : of.map((token) => buildLogprob(token, logprobs));
  const notes = placeCitations(speech).map(({ cited }) => ({ type: 'url_citation', ...cited }));
  const place = { content_index: 0 };
  const part = { type: 'output_text', annotations: [], logprobs: [], text: '' };
  const said = { ...part, annotations: notes, logprobs: buildLogprobs(words), text };
  const head = { id, type: 'message', role: 'assistant' };
  return {
    items: [
      {
        id,
        start: { ...head, status: 'in_progress', content: [] },
        whole: {
          ...head,
          status: speech.reason === 'limit' && !speech.calls.length ? 'incomplete' : 'completed',
          content: [said],
        },
      },
    ],
    events: [
      event('content_part.added', { ...place, part }),
      ...words.map((delta) =>
        event('output_text.delta', { ...place, delta, logprobs: buildLogprobs([delta]), padded: true }, 1),
      ),
      ...notes.map((annotation, index) =>
        event('output_text.annotation.added', { ...place, annotation_index: index, annotation }),
      ),
      event('output_text.done', { ...place, text, logprobs: said.logprobs }),
      event('content_part.done', { ...place, part: said }),
    ],
  };
}

function buildRefusalItem({ refusal: words }: Speech, id: string): ItemGroup {
  const refusal = words.join('');
  const place = { content_index: 0 };
  const part = (said: string): object => ({ type: 'refusal', refusal: said });
  const head = { id, type: 'message', role: 'assistant' };
  return {
    items: [
      {
        id,
        start: { ...head, status: 'in_progress', content: [] },
        whole: { ...head, status: 'completed', content: [part(refusal)] },
      },
    ],
    events: [
      event('content_part.added', { ...place, part: part('') }),
      ...words.map((delta) => event('refusal.delta', { ...place, delta }, 1)),
      event('refusal.done', { ...place, refusal }),
      event('content_part.done', { ...place, part: part(refusal) }),
    ],
  };
}

function buildCallItems(
  { calls, reason }: Speech,
  idOf: (prefix: string, index: number) => string,
  { interleaved, namespaces }: Wanted,
): ItemGroup[] {
  const streamed = calls.map(({ id: callId, name, freeform, fragments }, index) => {
    const [type, field, prefix] = freeform
      ? ['custom_tool_call', 'input', 'ctc']
      : ['function_call', 'arguments', 'fc'];
    const id = idOf(prefix, index);
    const said = fragments.join('');
    const broken = reason === 'limit' && index === calls.length - 1;
    const namespace = namespaces.get(name);
    const head = { id, type, call_id: callId, name, ...(namespace === undefined ? {} : { namespace }) };
    const about = freeform ? 'custom_tool_call_input' : 'function_call_arguments';
    return {
      id,
      about,
      freeform,
      said,
      name,
      start: { ...head, status: 'in_progress', [field]: '' },
      whole: { ...head, status: broken ? 'incomplete' : 'completed', [field]: said },
    };
  });
  const events = [...streamCallFragments(calls, interleaved)].map(({ index, fragment }) =>
    event(`${streamed[index]?.about}.delta`, { delta: fragment, padded: true }, 1, index),
  );
  const ends = streamed.map(({ about, freeform, said, name }, index) =>
    event(`${about}.done`, freeform ? { input: said } : { arguments: said, name }, 1, index),
  );
  if (interleaved) return streamed.length ? [{ items: streamed, events: [...events, ...ends] }] : [];
  return streamed.map((item, index) => ({
    items: [item],
    events: [...events, ...ends].filter(({ item: of }) => of === index).map((one) => ({ ...one, item: 0 })),
  }));
}

function buildSearchItem(query: string, id: string, { citations }: Speech, { sources }: Wanted): ItemGroup {
  const found = sources ? { sources: citations.map(({ url }) => ({ type: 'url', url })) } : {};
  const head = { id, type: 'web_search_call' };
  return {
    items: [
      {
        id,
        start: { ...head, status: 'in_progress' },
        whole: { ...head, status: 'completed', action: { type: 'search', query, ...found } },
      },
    ],
    events: ['in_progress', 'searching', 'completed'].map((step) => event(`web_search_call.${step}`)),
  };
}

function buildCodeItem(
  { language: _language, source, output }: NonNullable<Speech['code']>,
  id: string,
): ItemGroup {
  const head = { id, type: 'code_interpreter_call', container_id: 'cntr_fake' };
  return {
    items: [
      {
        id,
        start: { ...head, status: 'in_progress', code: '', outputs: null },
        whole: { ...head, status: 'completed', code: source, outputs: [{ type: 'logs', logs: output }] },
      },
    ],
    events: [
      event('code_interpreter_call.in_progress'),
      event('code_interpreter_call_code.delta', { delta: source, padded: true }),
      event('code_interpreter_call_code.done', { code: source }),
      event('code_interpreter_call.interpreting'),
      event('code_interpreter_call.completed'),
    ],
  };
}

function buildPictureItem({ mimeType, data }: Speech['pictures'][number], id: string): ItemGroup {
  const facts = {
    background: 'opaque',
    output_format: mimeType.replace('image/', ''),
    quality: 'high',
    size: '1024x1024',
  };
  const head = { id, type: 'image_generation_call' };
  return {
    items: [
      {
        id,
        start: { ...head, status: 'in_progress' },
        whole: {
          ...head,
          status: 'completed',
          action: 'generate',
          ...facts,
          result: data,
          revised_prompt: 'A picture.',
        },
      },
    ],
    events: [
      event('image_generation_call.in_progress'),
      event('image_generation_call.generating'),
      event('image_generation_call.partial_image', {
        partial_image_index: 0,
        partial_image_b64: data,
        ...facts,
      }),
      event('image_generation_call.completed'),
    ],
  };
}

/** Takes the text and a way to make ids; returns the reply's items in their order. */
export function buildOutput(
  speech: Speech,
  wanted: Wanted,
  seals: Seals,
  idOf: (prefix: string, index?: number) => string,
): ItemGroup[] {
  const { reasoning, search, code, pictures, text, refusal } = speech;
  return [
    ...(reasoning.length ? [buildReasoningItem(speech, idOf('rs'), wanted, seals)] : []),
    ...(search === undefined ? [] : [buildSearchItem(search, idOf('ws'), speech, wanted)]),
    ...(code ? [buildCodeItem(code, idOf('ci'))] : []),
    ...pictures.map((picture, index) => buildPictureItem(picture, idOf('ig', index))),
    ...(text?.length ? [buildTextItem(speech, idOf('msg'), wanted)] : []),
    ...(refusal.length ? [buildRefusalItem(speech, idOf('msg', 1))] : []),
    ...buildCallItems(speech, idOf, wanted),
  ];
}
