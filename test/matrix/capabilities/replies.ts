/** What only a reply says: why it ended, its sources, its cost. */
import { isObject, type Json } from '../../support/json.ts';
import { hear } from '../../support/listen.ts';
import { wires, type Wire } from '../../support/replaying-vendor.ts';
import {
  meetsAll,
  fillWires,
  has,
  holds,
  mentions,
  type ByWire,
  type Capability,
  type Check,
} from '../capability.ts';
import { spellTurns } from '../spelling.ts';

const asked = fillWires({});

function ends(reasons: Partial<Record<Wire, unknown>>): ByWire<Check> {
  return Object.fromEntries(
    Object.entries(reasons).map(([wire, reason]) => {
      const client = wires.find((name) => name === wire);
      return [wire, (reply: Json) => client !== undefined && hear(client, reply).reason === reason];
    }),
  );
}

/** A figure of the reply's usage, by the place each protocol keeps it at. */
function counts(places: Partial<Record<Wire, readonly string[]>>, expected: number): ByWire<Check> {
  const readAt = (value: unknown, path: readonly string[]): unknown =>
    path.reduce<unknown>((inner, name) => (isObject(inner) ? inner[name] : undefined), value);
  return Object.fromEntries(
    Object.entries(places).map(([wire, path]) => [wire, (reply: Json) => readAt(reply, path) === expected]),
  );
}

const citation = { url: 'https://tides.example/whitby', title: 'Tide tables', text: 'High water' };

export const replies: readonly Capability[] = [
  {
    name: 'stop at the output limit',
    ask: {
      'chat-completions': { max_completion_tokens: 16 },
      responses: { max_output_tokens: 16 },
      messages: { max_tokens: 16 },
      'generate-content': { generationConfig: { maxOutputTokens: 16 } },
    },
    does: fillWires({
      text:
        'one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen ' +
        'seventeen eighteen nineteen twenty',
    }),
    shown: ends({
      'chat-completions': 'length',
      responses: 'max_output_tokens',
      messages: 'max_tokens',
      'generate-content': 'MAX_TOKENS',
    }),
  },
  {
    name: 'filtered output',
    ask: asked,
    does: {
      'chat-completions': { text: 'I', finish: 'content_filter' },
      'generate-content': { text: 'I', finish: 'SAFETY' },
      messages: { text: 'I', finish: 'refusal' },
    },
    shown: ends({
      'chat-completions': 'content_filter',
      responses: 'content_filter',
      messages: 'refusal',
      'generate-content': 'SAFETY',
    }),
  },
  {
    name: 'refusals',
    ask: asked,
    does: { 'chat-completions': { refusal: 'I will not.' }, responses: { refusal: 'I will not.' } },
    shown: {
      'chat-completions': (reply) => hear('chat-completions', reply).refusal === 'I will not.',
      responses: (reply) => hear('responses', reply).refusal === 'I will not.',
      messages: (reply) => hear('messages', reply).text === 'I will not.' && reply.stop_reason === 'refusal',
    },
    shownInstead: { 'generate-content': mentions('I will not.') },
  },
  {
    name: 'blocked prompts',
    ask: asked,
    does: { 'generate-content': { blocked: 'SAFETY' } },
    shown: {
      ...ends({ 'chat-completions': 'content_filter', responses: 'content_filter', messages: 'refusal' }),
      'generate-content': holds({ promptFeedback: { blockReason: 'SAFETY' } }),
    },
  },
  {
    name: 'citations',
    model: 'thinking',
    ask: asked,
    does: {
      'chat-completions': { text: 'High water.', citations: [citation] },
      responses: { text: 'High water.', citations: [citation] },
      messages: { text: 'High water.', citations: [citation] },
      'generate-content': { text: 'High water.', search: 'tide', citations: [citation] },
    },
    shown: {
      'chat-completions': holds({
        type: 'url_citation',
        url_citation: { url: citation.url, title: citation.title },
      }),
      responses: holds({ type: 'url_citation', url: citation.url, title: citation.title }),
      messages: holds({
        citations: [{ type: 'web_search_result_location', url: citation.url, title: citation.title }],
      }),
      'generate-content': holds({ web: { uri: citation.url, title: citation.title } }),
    },
  },
  {
    name: 'executed code',
    model: 'thinking',
    ask: asked,
    does: {
      responses: { code: { language: 'python', source: 'print(42)', output: '42\n' }, text: 'It is 42.' },
      'generate-content': {
        code: { language: 'PYTHON', source: 'print(42)', output: '42\n' },
        text: 'It is 42.',
      },
    },
    shown: {
      responses: holds({
        type: 'code_interpreter_call',
        code: 'print(42)',
        outputs: [{ type: 'logs', logs: '42\n' }],
      }),
      'generate-content': meetsAll(
        holds({ executableCode: { code: 'print(42)' } }),
        holds({ codeExecutionResult: { output: '42\n' } }),
      ),
    },
    shownInstead: { 'chat-completions': mentions('It is 42.'), messages: mentions('It is 42.') },
  },
  {
    name: 'usage: input and output',
    ask: asked,
    does: fillWires({ text: 'Good day.' }),
    shown: {
      'chat-completions': holds({ usage: { completion_tokens: 3 } }),
      responses: holds({ usage: { output_tokens: 3 } }),
      messages: holds({ usage: { output_tokens: 3 } }),
      'generate-content': holds({ usageMetadata: { candidatesTokenCount: 3 } }),
    },
  },
  {
    name: 'usage: cached input',
    ask: spellTurns({ user: 'The harbour log says much. '.repeat(400) }),
    does: {
      ...fillWires({ cached: 1024, text: 'Good day.' }),
      messages: { usage: { cache_read_input_tokens: 1024 }, text: 'Good day.' },
    },
    shown: counts(
      {
        'chat-completions': ['usage', 'prompt_tokens_details', 'cached_tokens'],
        responses: ['usage', 'input_tokens_details', 'cached_tokens'],
        messages: ['usage', 'cache_read_input_tokens'],
        'generate-content': ['usageMetadata', 'cachedContentTokenCount'],
      },
      1024,
    ),
  },
  {
    name: 'usage: reasoning',
    model: 'thinking',
    ask: {
      'chat-completions': { reasoning_effort: 'high' },
      responses: { reasoning: { effort: 'high', summary: 'auto' } },
      messages: { thinking: { type: 'adaptive', display: 'summarized' } },
      'generate-content': { generationConfig: { thinkingConfig: { includeThoughts: true } } },
    },
    does: fillWires({ reasoning: ['The ', 'moon ', 'decides.'], text: 'Noon.' }),
    shown: counts(
      {
        'chat-completions': ['usage', 'completion_tokens_details', 'reasoning_tokens'],
        responses: ['usage', 'output_tokens_details', 'reasoning_tokens'],
        messages: ['usage', 'output_tokens_details', 'thinking_tokens'],
        'generate-content': ['usageMetadata', 'thoughtsTokenCount'],
      },
      3,
    ),
  },
  {
    name: 'the model that answered',
    ask: asked,
    does: fillWires({ text: 'Good day.' }),
    shown: {
      'chat-completions': has({ model: /^(openai|anthropic|google)\// }),
      responses: has({ model: /^(openai|anthropic|google)\// }),
      messages: has({ model: /^(openai|anthropic|google)\// }),
      'generate-content': has({ modelVersion: /^(openai|anthropic|google)\// }),
    },
  },
];
