/** What whole and streamed replies share: identity, blocks, the reason for the end, and usage. */
import { type Asked, improvise, saysNothing } from '../improvise.ts';
import type { Scenario } from '../scenario.ts';
import type { Seals } from '../seal.ts';
import { speak, countSpeechTokens, type Speech } from '../speech.ts';
import { countAll } from '../words.ts';
import type { Cached } from './cache.ts';
import { groupTurns } from './conversation.ts';
import type { ClaudeFacts } from './models.ts';
import type { Block, MessagesRequest, CountRequest } from './request.ts';

function joinText(block: Extract<Block, { type: 'tool_result' }>): string {
  if (typeof block.content === 'string') return block.content;
  return (block.content ?? []).map((part) => (part.type === 'text' ? part.text : `(${part.type})`)).join(' ');
}

function listResults({ messages }: MessagesRequest): Asked['results'] {
  const [before, last] = groupTurns(messages.filter(({ role }) => role !== 'system')).slice(-2);
  const names = new Map(
    (before?.blocks ?? []).flatMap((block) =>
      block.type === 'tool_use' ? [[block.id, block.name] as const] : [],
    ),
  );
  return (last?.blocks ?? []).flatMap((block) =>
    block.type === 'tool_result' ? [{ name: names.get(block.tool_use_id) ?? '', text: joinText(block) }] : [],
  );
}

function describeRequest(request: MessagesRequest): Asked {
  const { model, tools = [], tool_choice: choice, thinking, output_config: config } = request;
  const custom = tools.flatMap((tool) =>
    'input_schema' in tool ? [{ name: tool.name, schema: tool.input_schema }] : [],
  );
  const offered =
    choice?.type === 'tool'
      ? custom.filter(({ name }) => name === choice.name)
      : choice?.type === 'none'
        ? []
        : custom;
  return {
    model,
    tools: offered,
    mustCall: choice?.type === 'any' || choice?.type === 'tool',
    parallel: !(choice && 'disable_parallel_tool_use' in choice && choice.disable_parallel_tool_use),
    results: listResults(request),
    ...(config?.format ? { schema: config.format.schema } : {}),
    reasons: thinking !== undefined && thinking.type !== 'disabled',
    searches: tools.some(
      ({ name, type }) => name === 'web_search' && type !== undefined && type !== null && type !== 'custom',
    ),
  };
}

/** A finished block, and the deltas it is streamed in. */
export interface ToldBlock {
  readonly start: object;
  readonly whole: object;
  readonly deltas: readonly { readonly delta: object; readonly tokens: number }[];
  /** The limit was reached within it: its end is never sent. */
  readonly broken: boolean;
}

export interface Composition {
  readonly id: string;
  readonly model: string;
  readonly scenario: Scenario;
  readonly blocks: readonly ToldBlock[];
  readonly stop: {
    readonly stop_reason: string;
    readonly stop_sequence: string | null;
    readonly stop_details?: object;
  };
  readonly input: Readonly<Record<string, unknown>>;
  readonly output: Readonly<Record<string, unknown>>;
  readonly billed: { readonly prompt: number; readonly completion: number };
}

export function countPromptTokens({ system, messages, tools }: CountRequest): number {
  return countAll([system, messages, tools]);
}

const reasons = {
  end: 'end_turn',
  'stop-sequence': 'stop_sequence',
  limit: 'max_tokens',
  calls: 'tool_use',
  refusal: 'refusal',
} as const;

function buildTextDeltas(words: readonly string[]): ToldBlock['deltas'] {
  return words.map((text) => ({ delta: { type: 'text_delta', text }, tokens: 1 }));
}

function buildTextBlock(words: readonly string[], citations: readonly object[] = []): ToldBlock {
  const cites = citations.map((citation) => ({ delta: { type: 'citations_delta', citation }, tokens: 0 }));
  const cited = citations.length ? { citations } : {};
  return {
    start: { ...(citations.length ? { citations: [] } : {}), type: 'text', text: '' },
    whole: { ...cited, type: 'text', text: words.join('') },
    deltas: [...cites, ...buildTextDeltas(words)],
    broken: false,
  };
}

function wrapBlock(block: object): ToldBlock {
  return { start: block, whole: block, deltas: [], broken: false };
}

function buildThoughtBlocks({ reasoning, sealed }: Speech, shown: boolean, seals: Seals): ToldBlock[] {
  if (!reasoning.length) return [];
  if (sealed) return [wrapBlock({ type: 'redacted_thinking', data: seals.seal('redacted', '') })];
  const thinking = shown ? reasoning : [];
  const signature = seals.seal('thinking', thinking.join(''));
  const deltas = thinking.map((piece) => ({ delta: { type: 'thinking_delta', thinking: piece }, tokens: 1 }));
  return [
    {
      start: { type: 'thinking', thinking: '', signature: '' },
      whole: { type: 'thinking', thinking: thinking.join(''), signature },
      deltas: [
        ...deltas,
        { delta: { type: 'signature_delta', signature }, tokens: shown ? 0 : reasoning.length },
      ],
      broken: false,
    },
  ];
}

/** Arguments as the wire streams them: an empty piece first, and nothing else if there are none. */
function buildInputDeltas(fragments: readonly string[]): ToldBlock['deltas'] {
  const said = fragments.join('') === '{}' ? [] : fragments;
  return [
    { delta: { type: 'input_json_delta', partial_json: '' }, tokens: 1 },
    ...said.map((piece) => ({ delta: { type: 'input_json_delta', partial_json: piece }, tokens: 1 })),
  ];
}

function parseArguments(text: string): unknown {
  try {
    return JSON.parse(text || '{}');
  } catch {
    return {};
  }
}

function buildCallBlocks({ calls, reason }: Speech): ToldBlock[] {
  return calls.map(({ id, name, fragments }, index) => {
    const head = { type: 'tool_use', id, name };
    const broken = reason === 'limit' && index === calls.length - 1;
    return {
      start: { ...head, input: {} },
      whole: { ...head, input: parseArguments(fragments.join('')) },
      deltas: buildInputDeltas(fragments),
      broken,
    };
  });
}

/** The vendor's own search: its query and its results. */
function buildSearchBlocks({ search, citations }: Speech, id: string, seals: Seals): ToldBlock[] {
  if (search === undefined) return [];
  const call = { type: 'server_tool_use', id, name: 'web_search' };
  const results = citations.map(({ url, title }) => ({
    type: 'web_search_result',
    title,
    url,
    encrypted_content: seals.seal('search', url),
    page_age: null,
  }));
  return [
    {
      start: { ...call, input: {} },
      whole: { ...call, input: { query: search } },
      deltas: buildInputDeltas([JSON.stringify({ query: search })]),
      broken: false,
    },
    wrapBlock({ type: 'web_search_tool_result', tool_use_id: id, content: results }),
  ];
}

/** The text, split where citations follow a part of it. */
function buildTextBlocks({ text, citations }: Speech, seals: Seals): ToldBlock[] {
  if (!text?.length) return [];
  const all = text.join('');
  const cited = citations.find(({ text: part }) => part !== undefined && all.startsWith(part));
  if (!citations.length) return [buildTextBlock(text)];
  const first = cited?.text ?? all;
  const places = citations.map(({ url, title }) => ({
    type: 'web_search_result_location',
    cited_text: first,
    url,
    title,
    encrypted_index: seals.seal('index', url),
  }));
  const rest = all.slice(first.length);
  return [buildTextBlock([first], places), ...(rest ? [buildTextBlock([rest])] : [])];
}

function buildStop(speech: Speech): Composition['stop'] {
  const stopReason = speech.finish ?? reasons[speech.reason];
  const details =
    stopReason === 'refusal' ? { stop_details: { type: 'refusal', category: null, explanation: null } } : {};
  return { stop_reason: stopReason, stop_sequence: speech.stopSequence ?? null, ...details };
}

function buildInputUsage(prompt: number, { read, written }: Cached): Record<string, unknown> {
  const creation = written['5m'] + written['1h'];
  return {
    input_tokens: Math.max(prompt - read - creation, 0),
    cache_creation_input_tokens: creation,
    cache_read_input_tokens: read,
    cache_creation: { ephemeral_5m_input_tokens: written['5m'], ephemeral_1h_input_tokens: written['1h'] },
  };
}

export interface Given {
  readonly request: MessagesRequest;
  readonly facts: ClaudeFacts;
  readonly scenario: Scenario;
  readonly number: number;
  readonly cached: Cached;
  readonly seals: Seals;
}

export function compose({ request, facts, scenario, number, cached, seals }: Given): Composition {
  const said = saysNothing(scenario) ? { ...improvise(describeRequest(request)), ...scenario } : scenario;
  const mark = `01Fake${String(number).padStart(6, '0')}`;
  const limit = scenario.overrun ? Infinity : Math.min(request.max_tokens, facts.outputLimit);
  const speech = speak(said, {
    limit,
    stops: request.stop_sequences ?? [],
    callId: (index) => `toolu_${mark}${index}`,
  });
  const shown = !(
    request.thinking &&
    'display' in request.thinking &&
    request.thinking.display === 'omitted'
  );
  const blocks = [
    ...buildThoughtBlocks(speech, shown, seals),
    ...buildSearchBlocks(speech, `srvtoolu_${mark}`, seals),
    ...buildTextBlocks(speech, seals),
    ...(speech.refusal.length ? [buildTextBlock(speech.refusal)] : []),
    ...buildCallBlocks(speech),
  ];
  const billed = { prompt: countPromptTokens(request), completion: countSpeechTokens(speech) };
  const searched =
    speech.search === undefined ? {} : { server_tool_use: { web_search_requests: 1, web_fetch_requests: 0 } };
  const thought = speech.reasoning.length
    ? { output_tokens_details: { thinking_tokens: speech.reasoning.length } }
    : {};
  const lies = typeof scenario.usage === 'object' ? scenario.usage : {};
  return {
    id: `msg_${mark}`,
    model: facts.snapshot ?? request.model,
    scenario: said === scenario ? scenario : { ...scenario, ...said },
    blocks,
    stop: buildStop(speech),
    input: { ...buildInputUsage(billed.prompt, cached), ...lies },
    output: { output_tokens: billed.completion, ...thought, ...searched, ...lies },
    billed,
  };
}
