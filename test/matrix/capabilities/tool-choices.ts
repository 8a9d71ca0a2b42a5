/** Which tools the model may or must call. */
import type { Wire } from '../../support/replaying-vendor.ts';
import { meetsAll, has, holds, type Capability } from '../capability.ts';
import { chart, offerTools, tide, mergeParts } from '../spelling.ts';
import { two } from './offered-tools.ts';

function offerChoice(fields: Partial<Record<Wire, object>>, tools = two): Partial<Record<Wire, object>> {
  return mergeParts(tools, fields);
}

/** Which tools the model may or must call. */
export const toolChoices: readonly Capability[] = [
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
