/** What a chat-completions request asks for, in terms that fit every wire. */
import type { Asked, OfferedTool } from '../improvise.ts';
import type { ModelFacts } from './models.ts';
import type { ChatRequest } from './request.ts';

function listOfferedTools({ tools = [], tool_choice: choice }: ChatRequest): OfferedTool[] {
  if (choice === 'none') return [];
  const all = tools.map((tool): OfferedTool =>
    tool.type === 'custom'
      ? { name: tool.custom.name, freeform: true }
      : { name: tool.function.name, schema: tool.function.parameters },
  );
  if (choice === undefined || typeof choice === 'string') return all;
  if (choice.type === 'allowed_tools') {
    const allowed = JSON.stringify(choice.allowed_tools.tools);
    return all.filter(({ name }) => allowed.includes(`"name":"${name}"`));
  }
  const wanted = choice.type === 'function' ? choice.function.name : choice.custom.name;
  return all.filter(({ name }) => name === wanted);
}

function joinText(content: ChatRequest['messages'][number]['content']): string {
  if (!Array.isArray(content)) return content ?? '';
  return content.map((part) => (part.type === 'text' ? part.text : `(${part.type})`)).join(' ');
}

function listResults({ messages }: ChatRequest): Asked['results'] {
  const start = messages.findLastIndex(({ role }) => role !== 'tool');
  const before = messages[start];
  const calls = before?.role === 'assistant' ? (before.tool_calls ?? []) : [];
  const names = new Map(
    calls.map((call) => [call.id, call.type === 'function' ? call.function.name : call.custom.name]),
  );
  return messages
    .slice(start + 1)
    .flatMap((message) =>
      message.role === 'tool'
        ? [{ name: names.get(message.tool_call_id) ?? '', text: joinText(message.content) }]
        : [],
    );
}

export function describeRequest(request: ChatRequest, { extensions }: ModelFacts): Asked {
  const { model, tool_choice: choice, response_format: format } = request;
  const schema =
    format?.type === 'json_schema'
      ? (format.json_schema.schema ?? true)
      : format?.type === 'json_object'
        ? true
        : undefined;
  return {
    model,
    tools: listOfferedTools(request),
    mustCall:
      choice === 'required' ||
      (typeof choice === 'object' &&
        (choice.type !== 'allowed_tools' || choice.allowed_tools.mode === 'required')),
    parallel: request.parallel_tool_calls ?? true,
    results: listResults(request),
    ...(schema === undefined ? {} : { schema }),
    // OpenAI hides its reasoning on this wire; others show it.
    reasons: extensions?.messageFields?.includes('reasoning_content') ?? false,
    searches: request.web_search_options !== undefined,
  };
}
