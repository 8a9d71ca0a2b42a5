/** One conversation in the words of each protocol, so that a capability has to spell only what is its own. */
import type { Wire } from '../support/replaying-vendor.ts';
import { fillWires } from './capability.ts';

interface Call {
  readonly id: string;
  readonly name: string;
  readonly input: object;
}

interface Result {
  readonly call: Call;
  readonly text: string;
}

export type Turn =
  | { readonly user: string }
  | { readonly assistant?: string; readonly calls?: readonly Call[] }
  | { readonly results: readonly Result[] };

function spellChatTurn(turn: Turn): object[] {
  if ('user' in turn) return [{ role: 'user', content: turn.user }];
  if ('results' in turn)
    return turn.results.map(({ call, text }) => ({ role: 'tool', tool_call_id: call.id, content: text }));
  const calls = turn.calls?.map(({ id, name, input }) => ({
    id,
    type: 'function',
    function: { name, arguments: JSON.stringify(input) },
  }));
  return [{ role: 'assistant', content: turn.assistant ?? null, ...(calls ? { tool_calls: calls } : {}) }];
}

function spellResponsesTurn(turn: Turn): object[] {
  if ('user' in turn) return [{ role: 'user', content: turn.user }];
  if ('results' in turn)
    return turn.results.map(({ call, text }) => ({
      type: 'function_call_output',
      call_id: call.id,
      output: text,
    }));
  const calls = (turn.calls ?? []).map(({ id, name, input }) => ({
    type: 'function_call',
    call_id: id,
    name,
    arguments: JSON.stringify(input),
  }));
  return [
    ...(turn.assistant === undefined ? [] : [{ role: 'assistant', content: turn.assistant }]),
    ...calls,
  ];
}

function spellMessagesTurn(turn: Turn): object[] {
  if ('user' in turn) return [{ role: 'user', content: turn.user }];
  if ('results' in turn)
    return [
      {
        role: 'user',
        content: turn.results.map(({ call, text }) => ({
          type: 'tool_result',
          tool_use_id: call.id,
          content: text,
        })),
      },
    ];
  const calls = (turn.calls ?? []).map(({ id, name, input }) => ({ type: 'tool_use', id, name, input }));
  return [
    {
      role: 'assistant',
      content: [...(turn.assistant === undefined ? [] : [{ type: 'text', text: turn.assistant }]), ...calls],
    },
  ];
}

function spellGenerateTurn(turn: Turn): object[] {
  if ('user' in turn) return [{ role: 'user', parts: [{ text: turn.user }] }];
  if ('results' in turn)
    return [
      {
        role: 'user',
        parts: turn.results.map(({ call, text }) => ({
          functionResponse: { id: call.id, name: call.name, response: { output: text } },
        })),
      },
    ];
  const calls = (turn.calls ?? []).map(({ id, name, input }) => ({
    functionCall: { id, name, args: input },
  }));
  return [
    { role: 'model', parts: [...(turn.assistant === undefined ? [] : [{ text: turn.assistant }]), ...calls] },
  ];
}

/** The turns as each protocol's request has them. */
export function spellTurns(...turns: readonly Turn[]): Record<Wire, object> {
  return {
    'chat-completions': { messages: turns.flatMap(spellChatTurn) },
    responses: { input: turns.flatMap(spellResponsesTurn) },
    messages: { messages: turns.flatMap(spellMessagesTurn) },
    'generate-content': { contents: turns.flatMap(spellGenerateTurn) },
  };
}

export interface ToolFacts {
  readonly name: string;
  readonly description?: string;
  readonly schema?: object;
}

export const tide: ToolFacts = {
  name: 'tide_at',
  description: 'When the tide turns.',
  schema: {
    type: 'object',
    properties: { harbour: { type: 'string' } },
    required: ['harbour'],
    additionalProperties: false,
  },
};
export const chart: ToolFacts = {
  name: 'chart_of',
  description: 'Draws a chart.',
  schema: {
    type: 'object',
    properties: { harbour: { type: 'string' } },
    required: ['harbour'],
    additionalProperties: false,
  },
};

/** Tools as each protocol's request offers them. */
export function offerTools(...tools: readonly ToolFacts[]): Record<Wire, object> {
  return {
    'chat-completions': {
      tools: tools.map(({ name, description, schema }) => ({
        type: 'function',
        function: { name, description, ...(schema ? { parameters: schema } : {}) },
      })),
    },
    responses: {
      tools: tools.map(({ name, description, schema = null }) => ({
        type: 'function',
        name,
        description,
        parameters: schema,
        strict: false,
      })),
    },
    messages: {
      tools: tools.map(({ name, description, schema = { type: 'object', properties: {} } }) => ({
        name,
        description,
        input_schema: schema,
      })),
    },
    'generate-content': {
      tools: [
        {
          functionDeclarations: tools.map(({ name, description, schema }) => ({
            name,
            description,
            ...(schema ? { parametersJsonSchema: schema } : {}),
          })),
        },
      ],
    },
  };
}

/** Several parts of a request in one, by protocol; a protocol that one of them leaves out is left out. */
export function mergeParts(
  ...parts: readonly Partial<Record<Wire, object>>[]
): Partial<Record<Wire, object>> {
  const wires = Object.keys(fillWires(0)).filter((wire): wire is Wire => parts.every((part) => wire in part));
  return Object.fromEntries(
    wires.map((wire) => [wire, Object.assign({}, ...parts.map((part) => part[wire]))]),
  );
}

/** The least a call needs. */
export const least: Readonly<Record<Wire, object>> = {
  ...spellTurns({ user: 'Ahoy' }),
  messages: { max_tokens: 4000, messages: [{ role: 'user', content: 'Ahoy' }] },
};
