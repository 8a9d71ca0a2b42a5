/** What a messages request asks for, in terms that fit every wire. */
import type { Asked } from '../improvise.ts';
import { groupTurns } from './conversation.ts';
import type { Block, MessagesRequest } from './request.ts';

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

export function describeRequest(request: MessagesRequest): Asked {
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
