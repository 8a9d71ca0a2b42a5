/**
 * Rules about more than one field of a request, and what a strict schema requires of itself. Each takes a
 * request whose shape is right and returns a complaint or nothing; the first complaint is the reply.
 */
import { isObject } from '../../json.ts';
import type { ModelFacts } from './models.ts';
import { complain, type Complaint } from './refusals.ts';
import { isGiven, type ChatRequest } from './request.ts';

type Rule = (request: ChatRequest, facts: ModelFacts) => Complaint | undefined;

/** Of both of OpenAI's wires. */
export function checkStreamOptions(request: Partial<Record<'stream' | 'stream_options', unknown>>) {
  const message = "The 'stream_options' parameter is only allowed when 'stream' is enabled.";
  return request.stream_options && !request.stream ? complain(message, 'stream_options') : undefined;
}

const checkOneLimit: Rule = ({ max_tokens: old, max_completion_tokens: current }) =>
  isGiven(old) && isGiven(current)
    ? complain(
        "'max_tokens' and 'max_completion_tokens' cannot both be set.",
        null,
        'invalid_parameter_combination',
      )
    : undefined;

const checkLimit: Rule = (
  { max_tokens: old, max_completion_tokens: current },
  { outputLimit = Infinity },
) => {
  const limit = old ?? current ?? 0;
  if (limit <= outputLimit) return undefined;
  const param = isGiven(old) ? 'max_tokens' : 'max_completion_tokens';
  const most = `at most ${outputLimit} completion tokens`;
  return complain(`${param} is too large: ${limit}. This model supports ${most}.`, param, 'invalid_value');
};

const checkTemperature: Rule = ({ temperature: value }, { reasoning }) =>
  reasoning && isGiven(value) && value !== 1
    ? complain(
        `Unsupported value: 'temperature' does not support ${value} with this model. ` +
          'Only the default (1) value is supported.',
        'temperature',
        'unsupported_value',
      )
    : undefined;

const checkEffort: Rule = ({ reasoning_effort: value }, { efforts }) => {
  if (!efforts || !isGiven(value) || efforts.includes(value)) return undefined;
  const supported = efforts.map((one) => `'${one}'`).join(', ');
  const message =
    `Unsupported value: 'reasoning_effort' does not support '${value}' with this model. ` +
    `Supported values are: ${supported}.`;
  return complain(message, 'reasoning_effort', 'unsupported_value');
};

const checkReasoningTools: Rule = (
  { model, reasoning_effort: value, tools, functions },
  { toolsUnlessReasoning },
) => {
  if (!toolsUnlessReasoning || !(functions ?? tools?.some(({ type }) => type === 'function')))
    return undefined;
  if ((value ?? toolsUnlessReasoning.default) === 'none') return undefined;
  const message =
    `Function tools with reasoning_effort are not supported for ${model} in /v1/chat/completions. ` +
    'Please use /v1/responses instead.';
  return complain(message, 'reasoning_effort');
};

const checkSchemaSupport: Rule = ({ response_format: format }, { jsonAlone }) =>
  jsonAlone && format?.type === 'json_schema'
    ? complain(
        "Invalid parameter: 'response_format' of type 'json_schema' is not supported with this model.",
        'response_format',
      )
    : undefined;

/** Sound is asked of models that speak, with its voice and format; a stream has samples alone. */
const checkSound: Rule = ({ modalities, audio, stream }, { speaks }) => {
  const wanted = modalities?.includes('audio') ?? false;
  if (wanted && !speaks)
    return complain(
      "This model does not support the 'audio' output modality.",
      'modalities',
      'invalid_value',
    );
  if (wanted !== isGiven(audio))
    return complain(
      "'audio' is required when requesting the 'audio' modality, and only allowed then.",
      'audio',
    );
  if (!audio || !stream || audio.format === 'pcm16') return undefined;
  return complain(
    `Unsupported value: 'audio.format' does not support '${audio.format}' when stream=true. ` +
      "Supported values are: 'pcm16'.",
    'audio.format',
    'unsupported_value',
  );
};

const checkTopLogprobs: Rule = ({ logprobs, top_logprobs: top }) =>
  isGiven(top) && !logprobs
    ? complain("'top_logprobs' is only allowed when 'logprobs' is enabled.", 'top_logprobs')
    : undefined;

const checkToolsForChoice: Rule = (request) => {
  const param = (['tool_choice', 'parallel_tool_calls'] as const).find(
    (field) => request[field] !== undefined && !request.tools,
  );
  const message = `Invalid value for '${param}': '${param}' is only allowed when 'tools' are specified.`;
  return param && complain(message, param);
};

function listToolNames({ tools = [] }: ChatRequest): string[] {
  return tools.map((tool) => (tool.type === 'function' ? tool.function.name : tool.custom.name));
}

const checkChoice: Rule = (request) => {
  const choice = request.tool_choice;
  if (choice === undefined || typeof choice === 'string' || choice.type === 'allowed_tools') return undefined;
  const name = choice.type === 'function' ? choice.function.name : choice.custom.name;
  return listToolNames(request).includes(name)
    ? undefined
    : complain(`Tool choice '${name}' not found in 'tools' parameter.`, 'tool_choice');
};

const checkJsonMention: Rule = ({ response_format: format, messages }) =>
  format?.type === 'json_object' && !/json/i.test(JSON.stringify(messages))
    ? complain(
        "'messages' must contain the word 'json' to use 'response_format' of type 'json_object'.",
        'messages',
      )
    : undefined;

/** A strict schema closes every object and requires all of its properties, at every depth. */
export function checkStrictSchema(schema: unknown, place: readonly string[] = []): string | undefined {
  if (Array.isArray(schema)) return schema.map((item) => checkStrictSchema(item, place)).find(Boolean);
  if (!isObject(schema)) return undefined;
  const context = `In context=(${place.join(', ')})`;
  if (schema.type === 'object') {
    const properties = isObject(schema.properties) ? Object.keys(schema.properties) : [];
    const required: unknown[] = Array.isArray(schema.required) ? schema.required : [];
    if (schema.additionalProperties !== false)
      return `${context}, 'additionalProperties' is required to be supplied and to be false.`;
    if (properties.some((property) => !required.includes(property)))
      return `${context}, 'required' must hold every key in properties.`;
  }
  return Object.entries(schema)
    .map(([key, inner]) => checkStrictSchema(inner, [...place, key]))
    .find(Boolean);
}

const checkToolSchemas: Rule = ({ tools = [] }) => {
  for (const [index, tool] of tools.entries()) {
    if (tool.type !== 'function' || !tool.function.parameters) continue;
    const { name, parameters, strict } = tool.function;
    const kind = parameters.type;
    const fault =
      kind === 'object'
        ? strict && checkStrictSchema(parameters)
        : `schema must be of type "object", got ${JSON.stringify(kind) ?? 'none'}.`;
    const param = `tools[${index}].function.parameters`;
    if (fault)
      return complain(
        `Invalid schema for function '${name}': ${fault}`,
        param,
        'invalid_function_parameters',
      );
  }
  return undefined;
};

const checkFormatSchema: Rule = ({ response_format: format }) => {
  if (format?.type !== 'json_schema' || !format.json_schema.strict) return undefined;
  const fault = checkStrictSchema(format.json_schema.schema);
  return fault
    ? complain(`Invalid schema for '${format.json_schema.name}': ${fault}`, 'response_format')
    : undefined;
};

export const rules: readonly Rule[] = [
  checkStreamOptions,
  checkOneLimit,
  checkLimit,
  checkTemperature,
  checkEffort,
  checkReasoningTools,
  checkSchemaSupport,
  checkSound,
  checkTopLogprobs,
  checkToolsForChoice,
  checkChoice,
  checkJsonMention,
  checkToolSchemas,
  checkFormatSchema,
];
