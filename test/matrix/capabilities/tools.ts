/** Tools: how they are offered and chosen, how they are called, and what comes of it. */
import type { Json } from '../../support/json.ts';
import { hear } from '../../support/listen.ts';
import { type Wire, wires } from '../../support/replaying-vendor.ts';
import {
  meetsAll,
  has,
  holds,
  type Capability,
  meetsAny,
  fillWires,
  mentions,
  type Check,
} from '../capability.ts';
import { chart, offerTools, tide, mergeParts, spellTurns } from '../spelling.ts';
import { hostedTools } from './hosted-tools.ts';
import { two, asked, calls, hull, offered, whitby } from './offered-tools.ts';

function offerChoice(fields: Partial<Record<Wire, object>>, tools = two): Partial<Record<Wire, object>> {
  return mergeParts(tools, fields);
}

/** Which tools the model may or must call. */
const toolChoices: readonly Capability[] = [
  {
    name: 'tool choice: none',
    ask: offerChoice({
      'chat-completions': { tool_choice: 'none' },
      responses: { tool_choice: 'none' },
      messages: { tool_choice: { type: 'none' } },
      'generate-content': { toolConfig: { functionCallingConfig: { mode: 'NONE' } } },
    }),
    got: {
      'chat-completions': has({ tool_choice: 'none' }),
      responses: has({ tool_choice: 'none' }),
      messages: has({ tool_choice: { type: 'none' } }),
      'generate-content': holds({ functionCallingConfig: { mode: 'NONE' } }),
    },
  },
  {
    name: 'tool choice: any',
    ask: offerChoice({
      'chat-completions': { tool_choice: 'required' },
      responses: { tool_choice: 'required' },
      messages: { tool_choice: { type: 'any' } },
      'generate-content': { toolConfig: { functionCallingConfig: { mode: 'ANY' } } },
    }),
    got: {
      'chat-completions': has({ tool_choice: 'required' }),
      responses: has({ tool_choice: 'required' }),
      messages: has({ tool_choice: { type: 'any' } }),
      'generate-content': holds({ functionCallingConfig: { mode: 'ANY' } }),
    },
  },
  {
    name: 'tool choice: one',
    ask: offerChoice({
      'chat-completions': { tool_choice: { type: 'function', function: { name: 'chart_of' } } },
      responses: { tool_choice: { type: 'function', name: 'chart_of' } },
      messages: { tool_choice: { type: 'tool', name: 'chart_of' } },
      'generate-content': {
        toolConfig: { functionCallingConfig: { mode: 'ANY', allowedFunctionNames: ['chart_of'] } },
      },
    }),
    got: {
      'chat-completions': has({ tool_choice: { type: 'function', function: { name: 'chart_of' } } }),
      responses: has({ tool_choice: { type: 'function', name: 'chart_of' } }),
      messages: has({ tool_choice: { type: 'tool', name: 'chart_of' } }),
      'generate-content': holds({
        functionCallingConfig: { mode: 'ANY', allowedFunctionNames: ['chart_of'] },
      }),
    },
  },
  {
    name: 'tool choice: some',
    ask: offerChoice(
      {
        'chat-completions': {
          tool_choice: {
            type: 'allowed_tools',
            allowed_tools: {
              mode: 'required',
              tools: [
                { type: 'function', function: { name: 'tide_at' } },
                { type: 'function', function: { name: 'chart_of' } },
              ],
            },
          },
        },
        responses: {
          tool_choice: {
            type: 'allowed_tools',
            mode: 'required',
            tools: [
              { type: 'function', name: 'tide_at' },
              { type: 'function', name: 'chart_of' },
            ],
          },
        },
        'generate-content': {
          toolConfig: {
            functionCallingConfig: { mode: 'ANY', allowedFunctionNames: ['tide_at', 'chart_of'] },
          },
        },
      },
      offerTools(tide, chart, { name: 'now' }),
    ),
    got: {
      'chat-completions': has({
        tool_choice: { type: 'allowed_tools', allowed_tools: { mode: 'required' } },
      }),
      responses: has({ tool_choice: { type: 'allowed_tools', mode: 'required' } }),
      'generate-content': holds({
        functionCallingConfig: { mode: 'ANY', allowedFunctionNames: ['tide_at', 'chart_of'] },
      }),
    },
    instead: {
      messages: meetsAll(has({ tool_choice: { type: 'any' } }), (body) => !holds({ name: 'now' })(body)),
    },
  },
  {
    name: 'no parallel calls',
    ask: offerChoice({
      'chat-completions': { parallel_tool_calls: false },
      responses: { parallel_tool_calls: false },
      messages: { tool_choice: { type: 'auto', disable_parallel_tool_use: true } },
    }),
    got: {
      'chat-completions': has({ parallel_tool_calls: false }),
      responses: has({ parallel_tool_calls: false }),
      messages: has({ tool_choice: { disable_parallel_tool_use: true } }),
    },
  },
];

function failTool(text: string): Partial<Record<Wire, object>> {
  return mergeParts(
    {
      messages: {
        messages: [
          { role: 'user', content: 'Ahoy' },
          { role: 'assistant', content: [{ type: 'tool_use', id: 'call_1', name: 'tide_at', input: {} }] },
          {
            role: 'user',
            content: [{ type: 'tool_result', tool_use_id: 'call_1', is_error: true, content: text }],
          },
        ],
      },
      'generate-content': {
        contents: [
          { role: 'user', parts: [{ text: 'Ahoy' }] },
          { role: 'model', parts: [{ functionCall: { id: 'call_1', name: 'tide_at', args: {} } }] },
          {
            role: 'user',
            parts: [{ functionResponse: { id: 'call_1', name: 'tide_at', response: { error: text } } }],
          },
        ],
      },
    },
    { messages: offered.messages, 'generate-content': offered['generate-content'] },
  );
}

const toolSchema = { type: 'object', properties: { harbour: { type: 'string' } }, required: ['harbour'] };

function hasArguments(json: unknown): Check {
  return (body) => JSON.stringify(body).includes(JSON.stringify(JSON.stringify(json)));
}

export const tools: readonly Capability[] = [
  {
    name: 'tools',
    ask: offered,
    got: {
      'chat-completions': holds({
        type: 'function',
        function: { name: 'tide_at', description: /tide/, parameters: toolSchema },
      }),
      responses: holds({ type: 'function', name: 'tide_at', description: /tide/, parameters: toolSchema }),
      messages: holds({ name: 'tide_at', description: /tide/, input_schema: toolSchema }),
      'generate-content': holds({ name: 'tide_at', description: /tide/, parametersJsonSchema: toolSchema }),
    },
    does: fillWires({ toolCalls: [{ name: 'tide_at', arguments: '{"harbour":"Hull"}' }] }),
    shown: calls([['tide_at', { harbour: 'Hull' }]]),
  },
  {
    name: 'tools without arguments',
    ask: offerTools({ name: 'now', description: 'The time.' }),
    got: fillWires(mentions('now')),
    does: fillWires({ toolCalls: [{ name: 'now', arguments: '{}' }] }),
    shown: calls([['now', {}]]),
  },
  {
    name: 'strict tools',
    ask: {
      'chat-completions': {
        tools: [{ type: 'function', function: { name: 'tide_at', strict: true, parameters: tide.schema } }],
      },
      responses: { tools: [{ type: 'function', name: 'tide_at', strict: true, parameters: tide.schema }] },
      messages: { tools: [{ name: 'tide_at', strict: true, input_schema: tide.schema }] },
    },
    got: {
      'chat-completions': holds({ name: 'tide_at', strict: true }),
      responses: holds({ name: 'tide_at', strict: true }),
      messages: holds({ name: 'tide_at', strict: true }),
    },
    instead: { 'generate-content': holds({ name: 'tide_at' }) },
  },
  ...toolChoices,
  {
    name: 'parallel calls, interleaved',
    ask: offered,
    does: fillWires({
      interleaved: true,
      toolCalls: ['Hull', 'Whitby', 'Oslo'].map((harbour) => ({
        name: 'tide_at',
        arguments: ['{"harbour":', `"${harbour}"`, '}'],
      })),
    }),
    shown: calls(['Hull', 'Whitby', 'Oslo'].map((harbour) => ['tide_at', { harbour }])),
  },
  {
    name: 'text before a call',
    ask: offered,
    does: fillWires({ text: 'I look. ', toolCalls: [{ name: 'tide_at', arguments: '{"harbour":"Hull"}' }] }),
    shown: Object.fromEntries(
      wires.map((wire) => [
        wire,
        (reply: Json) => hear(wire, reply).text === 'I look. ' && hear(wire, reply).calls.length === 1,
      ]),
    ),
  },
  {
    name: 'tool results',
    ask: mergeParts(asked, offered),
    got: {
      'chat-completions': meetsAll(
        holds({ role: 'tool', tool_call_id: 'call_1', content: '05:12' }),
        hasArguments({ harbour: 'Hull' }),
      ),
      responses: meetsAll(
        holds({ type: 'function_call_output', call_id: 'call_1', output: '05:12' }),
        hasArguments({ harbour: 'Hull' }),
      ),
      messages: meetsAll(
        meetsAny(
          holds({ type: 'tool_result', tool_use_id: 'call_1', content: '05:12' }),
          holds({ tool_use_id: 'call_1', content: [{ type: 'text', text: '05:12' }] }),
        ),
        holds({ type: 'tool_use', input: { harbour: 'Hull' } }),
      ),
      'generate-content': meetsAll(
        holds({ functionResponse: { name: 'tide_at', response: { output: '05:12' } } }),
        holds({ functionCall: { name: 'tide_at', args: { harbour: 'Hull' } } }),
      ),
    },
  },
  {
    name: 'several results in a turn',
    ask: mergeParts(
      spellTurns(
        { user: 'Ahoy' },
        { assistant: 'I look.', calls: [hull, whitby] },
        {
          results: [
            { call: hull, text: '05:12' },
            { call: whitby, text: '06:40' },
          ],
        },
      ),
      offered,
    ),
    got: {
      'chat-completions': meetsAll(
        holds({ tool_call_id: 'call_1', content: '05:12' }),
        holds({ tool_call_id: 'call_2', content: '06:40' }),
      ),
      responses: meetsAll(
        holds({ call_id: 'call_1', output: '05:12' }),
        holds({ call_id: 'call_2', output: '06:40' }),
      ),
      messages: holds({ role: 'user', content: [{ tool_use_id: 'call_1' }, { tool_use_id: 'call_2' }] }),
      'generate-content': holds({
        parts: [
          { functionResponse: { response: { output: '05:12' } } },
          { functionResponse: { response: { output: '06:40' } } },
        ],
      }),
    },
  },
  {
    name: 'failed tool results',
    ask: failTool('no such harbour'),
    got: {
      messages: holds({ type: 'tool_result', is_error: true }),
      'generate-content': holds({ functionResponse: { response: { error: 'no such harbour' } } }),
    },
    instead: {
      'chat-completions': holds({ role: 'tool', content: /no such harbour/ }),
      responses: holds({ type: 'function_call_output', output: /no such harbour/ }),
    },
  },
  {
    name: 'custom tools',
    model: 'thinking',
    ask: {
      'chat-completions': { tools: [{ type: 'custom', custom: { name: 'patch', description: 'Patches.' } }] },
      responses: { tools: [{ type: 'custom', name: 'patch', description: 'Patches.' }] },
    },
    got: {
      'chat-completions': holds({ type: 'custom', custom: { name: 'patch' } }),
      responses: holds({ type: 'custom', name: 'patch' }),
    },
    instead: {
      messages: holds({ name: 'patch', input_schema: { properties: { input: { type: 'string' } } } }),
      'generate-content': holds({
        name: 'patch',
        parametersJsonSchema: { properties: { input: { type: 'string' } } },
      }),
    },
    does: {
      'chat-completions': { toolCalls: [{ name: 'patch', freeform: true, arguments: '*** Begin' }] },
      responses: { toolCalls: [{ name: 'patch', freeform: true, arguments: '*** Begin' }] },
      messages: { toolCalls: [{ name: 'patch', arguments: '{"input":"*** Begin"}' }] },
      'generate-content': { toolCalls: [{ name: 'patch', arguments: '{"input":"*** Begin"}' }] },
    },
    shown: calls([['patch', '*** Begin']]),
  },
  {
    name: 'grammars of custom tools',
    model: 'thinking',
    ask: {
      'chat-completions': {
        tools: [
          {
            type: 'custom',
            custom: {
              name: 'patch',
              format: { type: 'grammar', grammar: { syntax: 'lark', definition: 'start: "x"' } },
            },
          },
        ],
      },
      responses: {
        tools: [
          {
            type: 'custom',
            name: 'patch',
            format: { type: 'grammar', syntax: 'lark', definition: 'start: "x"' },
          },
        ],
      },
    },
    got: {
      'chat-completions': holds({ grammar: { syntax: 'lark', definition: 'start: "x"' } }),
      responses: holds({ format: { type: 'grammar', syntax: 'lark', definition: 'start: "x"' } }),
    },
    instead: { messages: mentions('start: "x"'), 'generate-content': mentions('start: "x"') },
  },
  {
    name: 'tool namespaces',
    model: 'thinking',
    ask: {
      responses: {
        tools: [
          {
            type: 'namespace',
            name: 'charts',
            description: 'Sea charts.',
            tools: [{ type: 'function', name: 'tide_at', parameters: tide.schema, strict: false }],
          },
        ],
      },
    },
    got: { responses: holds({ type: 'namespace', name: 'charts' }) },
    instead: {
      'chat-completions': mentions(/tide_at/),
      messages: mentions(/tide_at/),
      'generate-content': mentions(/tide_at/),
    },
    does: Object.fromEntries(
      wires
        .filter((wire) => wire !== 'responses')
        .map((wire) => [wire, { toolCalls: [{ name: 'tide_at', arguments: '{"harbour":"Hull"}' }] }]),
    ),
    shown: { responses: holds({ type: 'function_call', name: 'tide_at', namespace: 'charts' }) },
  },
  ...hostedTools,
];
