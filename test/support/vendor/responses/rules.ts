/** Rules that depend on several fields of a request, or on the model. Each returns a complaint or nothing. */
import { complain, type Complaint } from '../chat-completions/refusals.ts';
import { checkStreamOptions, checkStrictSchema } from '../chat-completions/rules.ts';
import type { ResponsesFacts } from './models.ts';
import { listTools, type CountRequest, type ResponsesRequest } from './request.ts';
import { flattenTools } from './tools.ts';

type Rule = (
  request: CountRequest & Partial<ResponsesRequest>,
  facts: ResponsesFacts,
) => Complaint | undefined;

function describeUnsupported(param: string): Complaint {
  return complain(
    `Unsupported parameter: '${param}' is not supported with this model.`,
    param,
    'unsupported_parameter',
  );
}

const checkInput: Rule = ({ input, previous_response_id: previous, conversation, prompt }) =>
  input === undefined && !previous && !conversation && !prompt
    ? complain(
        'One of "input" or "previous_response_id" or \'prompt\' or \'conversation\' must be provided.',
        'input',
        'missing_required_parameter',
      )
    : undefined;

const checkPrevious: Rule = ({ previous_response_id: previous }) =>
  previous
    ? complain(
        `Previous response with id '${previous}' not found.`,
        'previous_response_id',
        'previous_response_not_found',
      )
    : undefined;

const checkSampling: Rule = (request, { efforts }) => {
  if (!efforts.length || request.reasoning?.effort === 'none') return undefined;
  const field = (['temperature', 'top_p', 'top_logprobs'] as const).find(
    (name) => typeof request[name] === 'number',
  );
  return field && describeUnsupported(field);
};

const checkReasoningLogprobs: Rule = ({ include }, { efforts }) =>
  efforts.length && include?.includes('message.output_text.logprobs')
    ? complain('logprobs are not supported with reasoning models.', 'include', 'unsupported_parameter')
    : undefined;

/** The effort that holds in the end: an item of the input may change it. */
function findEffort({ reasoning, input }: CountRequest): string | null | undefined {
  const updates = (Array.isArray(input) ? input : []).flatMap((item) =>
    item.type === 'configuration_update' && item.reasoning?.effort !== undefined ? [item.reasoning] : [],
  );
  return (updates.at(-1) ?? reasoning)?.effort;
}

const checkEffort: Rule = (request, { efforts }) => {
  const { reasoning, model } = request;
  const wanted = findEffort(request);
  if (!efforts.length) {
    const field = wanted ? 'reasoning.effort' : reasoning?.summary ? 'reasoning.summary' : undefined;
    return field && describeUnsupported(field);
  }
  if (!wanted || efforts.includes(wanted)) return undefined;
  const supported = efforts.map((one) => `'${one}'`).join(', ');
  return complain(
    `Unsupported value: '${wanted}' is not supported with the '${model}' model. ` +
      `Supported values are: ${supported}.`,
    'reasoning.effort',
    'unsupported_value',
  );
};

const checkEncryptedInclude: Rule = ({ include }, { efforts }) =>
  !efforts.length && include?.includes('reasoning.encrypted_content')
    ? complain('Encrypted content is not supported with this model.', 'include')
    : undefined;

const checkLimit: Rule = ({ max_output_tokens: wanted }, { outputLimit }) =>
  (wanted ?? 0) > outputLimit
    ? complain(
        "Invalid 'max_output_tokens': integer above maximum value. " +
          `Expected a value <= ${outputLimit}, but got ${wanted} instead.`,
        'max_output_tokens',
        'integer_above_max_value',
      )
    : undefined;

const checkVerbosity: Rule = ({ text }, { efforts }) =>
  text?.verbosity && text.verbosity !== 'medium' && !efforts.length
    ? describeUnsupported('text.verbosity')
    : undefined;

const checkTopLogprobs: Rule = ({ top_logprobs: top, include }) =>
  top && !include?.includes('message.output_text.logprobs')
    ? complain("'top_logprobs' needs 'message.output_text.logprobs' in 'include'.", 'top_logprobs')
    : undefined;

const checkChoice: Rule = (request) => {
  const { tool_choice: wanted } = request;
  const tools = listTools(request);
  if (!wanted || wanted === 'auto' || wanted === 'none') return undefined;
  if (wanted === 'required')
    return tools.length
      ? undefined
      : complain("Tool choice 'required' must be specified with 'tools' parameter.", 'tool_choice');
  const found =
    'name' in wanted
      ? flattenTools(tools).some(({ name, type }) => name === wanted.name && type === wanted.type)
      : tools.length;
  return found
    ? undefined
    : complain(`Tool choice '${wanted.type}' not found in 'tools' parameter.`, 'tool_choice');
};

const checkToolNames: Rule = (request) => {
  const names = flattenTools(listTools(request).filter(({ type }) => type !== 'namespace')).map(
    ({ name }) => name,
  );
  const twice = names.find((name, place) => names.indexOf(name) < place);
  return twice === undefined ? undefined : complain(`Duplicate tool names: '${twice}'.`, 'tools');
};

/** Without `strict` a schema is made strict by the vendor; said to be strict, it has to be. */
const checkToolSchemas: Rule = (request) => {
  for (const [place, tool] of flattenTools(listTools(request)).entries()) {
    if (tool.type !== 'function' || !tool.parameters) continue;
    const { type } = tool.parameters;
    const fault =
      type === 'object'
        ? tool.strict && checkStrictSchema(tool.parameters)
        : `schema must be a JSON Schema of 'type: "object"', got 'type: ` +
          `${JSON.stringify(type) ?? '"None"'}'.`;
    if (fault)
      return complain(
        `Invalid schema for function '${tool.name}': ${fault}`,
        `tools[${place}].parameters`,
        'invalid_function_parameters',
      );
  }
  return undefined;
};

const checkAnswerSchema: Rule = ({ text }) => {
  const format = text?.format;
  if (format?.type !== 'json_schema') return undefined;
  const fault = format.strict ? checkStrictSchema(format.schema) : undefined;
  return fault
    ? complain(
        `Invalid schema for response_format '${format.name}': ${fault}`,
        'text.format.schema',
        'invalid_json_schema',
      )
    : undefined;
};

const checkJsonMention: Rule = ({ text, input, instructions }) =>
  text?.format?.type === 'json_object' && !/json/i.test(JSON.stringify([input, instructions]))
    ? complain(
        "Response input messages must contain the word 'json' in some form to use 'text.format' " +
          "of type 'json_object'.",
        'input',
      )
    : undefined;

const checkBreakpoints: Rule = ({ input, prompt_cache_options: options }, { breakpoints: known }) =>
  !known && (options || JSON.stringify(input ?? '').includes('"prompt_cache_breakpoint":{'))
    ? describeUnsupported('prompt_cache_options')
    : undefined;

const checkMinimalSearch: Rule = ({ tools, reasoning }) =>
  reasoning?.effort === 'minimal' && tools?.some(({ type }) => type.startsWith('web_search'))
    ? complain("The following tools cannot be used with reasoning.effort 'minimal': web_search.", 'tools')
    : undefined;

export const rules: readonly Rule[] = [
  checkInput,
  checkPrevious,
  checkSampling,
  checkReasoningLogprobs,
  checkEffort,
  checkEncryptedInclude,
  checkLimit,
  checkStreamOptions,
  checkVerbosity,
  checkTopLogprobs,
  checkChoice,
  checkToolNames,
  checkToolSchemas,
  checkAnswerSchema,
  checkJsonMention,
  checkBreakpoints,
  checkMinimalSearch,
];
