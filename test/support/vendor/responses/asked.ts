/** What a responses request asks for, in terms that fit every wire. */
import type { Asked, OfferedTool } from '../improvise.ts';
import type { InputItem } from './items.ts';
import { listTools, type ResponsesRequest } from './request.ts';
import { flattenTools } from './tools.ts';

function listOfferedTools(request: ResponsesRequest): OfferedTool[] {
  const { tool_choice: choice } = request;
  if (choice === 'none') return [];
  const all = flattenTools(listTools(request)).map((tool): OfferedTool =>
    tool.type === 'custom'
      ? { name: tool.name, freeform: true }
      : { name: tool.name, schema: tool.parameters ?? undefined },
  );
  if (!choice || typeof choice === 'string') return all;
  if (choice.type === 'allowed_tools' && 'tools' in choice) {
    const names = new Set(choice.tools.map(({ name }) => name));
    return all.filter(({ name }) => names.has(name));
  }
  return 'name' in choice ? all.filter(({ name }) => name === choice.name) : [];
}

function joinText(item: InputItem): string {
  if (!('output' in item)) return '';
  if (typeof item.output === 'string') return item.output;
  return item.output.map((part) => (part.type === 'input_text' ? part.text : `(${part.type})`)).join(' ');
}

const outputs = new Set(['function_call_output', 'custom_tool_call_output']);

function listResults({ input }: ResponsesRequest): Asked['results'] {
  if (!Array.isArray(input)) return [];
  const start = input.findLastIndex(({ type }) => !outputs.has(type ?? '')) + 1;
  const names = new Map(
    input.flatMap((item) =>
      'name' in item && 'call_id' in item ? [[item.call_id, item.name] as const] : [],
    ),
  );
  return input.slice(start).map((item) => ({
    name: ('call_id' in item && item.call_id ? names.get(item.call_id) : undefined) ?? '',
    text: joinText(item),
  }));
}

export function describeRequest(request: ResponsesRequest, reasons: boolean): Asked {
  const { model, tool_choice: choice, parallel_tool_calls: parallel, text } = request;
  const schema =
    text?.format?.type === 'json_schema'
      ? text.format.schema
      : text?.format?.type === 'json_object'
        ? true
        : undefined;
  const has = (type: string): boolean =>
    choice !== 'none' && listTools(request).some((tool) => tool.type.startsWith(type));
  return {
    model,
    tools: listOfferedTools(request),
    mustCall:
      choice === 'required' ||
      (typeof choice === 'object' && choice !== null && 'name' in choice) ||
      (typeof choice === 'object' &&
        choice?.type === 'allowed_tools' &&
        'mode' in choice &&
        choice.mode === 'required'),
    parallel: parallel ?? true,
    results: listResults(request),
    ...(schema === undefined ? {} : { schema }),
    reasons,
    searches: has('web_search'),
    draws: has('image_generation'),
    runsCode: has('code_interpreter'),
  };
}
