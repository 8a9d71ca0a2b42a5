/** Rules that depend on several fields of a request, or on the model. Each returns a complaint or nothing. */
import { isObject } from '../../json.ts';
import type { ClaudeFacts } from './models.ts';
import type { CountRequest, MessagesRequest, Tool } from './request.ts';

interface Judged {
  /** A count has no `max_tokens` and the like. */
  readonly request: CountRequest & Partial<MessagesRequest>;
  readonly facts: ClaudeFacts;
  readonly version: string;
}

type Rule = (judged: Judged) => string | undefined;

const checkWithdrawn: Rule = ({ request, version }) => {
  if (version < '2026-10-21') return undefined;
  const field = (['temperature', 'top_p', 'top_k'] as const).find((name) => request[name] !== undefined);
  return field && `${field}: Extra inputs are not permitted`;
};

const checkUserCitations: Rule = ({ request, version }) => {
  if (version < '2026-10-21') return undefined;
  for (const [place, { role, content }] of request.messages.entries()) {
    if (typeof content === 'string' || role !== 'user') continue;
    const cited = content.findIndex((block) => block.type === 'text' && block.citations?.length);
    if (cited >= 0)
      return `messages.${place}.content.${cited}.text.citations: Extra inputs are not permitted`;
  }
  return undefined;
};

const checkSampling: Rule = ({ request, facts }) => {
  const { temperature, top_p: topP, top_k: topK } = request;
  if (facts.sampling === 'one' && temperature !== undefined && topP !== undefined) {
    return '`temperature` and `top_p` cannot both be specified for this model. Please use only one.';
  }
  if (facts.sampling !== 'none') return undefined;
  if (temperature !== undefined && temperature !== 1)
    return '`temperature` is not supported by this model; omit it or set it to 1.';
  if (topP !== undefined && topP < 0.99)
    return '`top_p` is not supported by this model; omit it or set it to 0.99 or more.';
  return topK === undefined ? undefined : '`top_k` is not supported by this model.';
};

const checkLimit: Rule = ({ request: { max_tokens: wanted, model }, facts: { outputLimit } }) =>
  wanted !== undefined && wanted > outputLimit
    ? `max_tokens: ${wanted} > ${outputLimit}, which is the maximum allowed number ` +
      `of output tokens for ${model}`
    : undefined;

const checkThinkingKind: Rule = ({ request: { thinking }, facts }) => {
  if (!thinking) return undefined;
  if (thinking.type === 'enabled' && facts.thinking !== 'budget' && facts.thinking !== 'both') {
    return facts.thinking === 'none'
      ? 'thinking: this model does not support thinking.'
      : '`thinking.type.enabled` is not supported for this model. ' +
          'Use `thinking.type.adaptive` and `output_config.effort` to control thinking behavior.';
  }
  if (
    (thinking.type === 'adaptive' || thinking.type === 'between_tools') &&
    facts.thinking !== 'adaptive' &&
    facts.thinking !== 'both'
  ) {
    return `${thinking.type} thinking is not supported on this model`;
  }
  return thinking.type === 'disabled' && !facts.canDisable
    ? '`thinking.type.disabled` is not supported for this model.'
    : undefined;
};

const checkThinkingFit: Rule = ({ request }) => {
  const {
    thinking,
    max_tokens: wanted,
    tool_choice: choice,
    temperature,
    top_p: topP,
    top_k: topK,
  } = request;
  if (thinking?.type !== 'enabled') return undefined;
  if (wanted !== undefined && thinking.budget_tokens >= wanted)
    return (
      '`max_tokens` must be greater than `thinking.budget_tokens`. Please consult our documentation at ' +
      'https://docs.claude.com/en/docs/build-with-claude/extended-thinking' +
      '#max-tokens-and-context-window-size'
    );
  if (choice?.type === 'any' || choice?.type === 'tool')
    return 'Thinking may not be enabled when tool_choice forces tool use.';
  if (temperature !== undefined && temperature !== 1)
    return '`temperature` may only be set to 1 when thinking is enabled.';
  if (topK !== undefined) return '`top_k` must be unset when thinking is enabled.';
  return topP !== undefined && topP < 0.95
    ? '`top_p` must be greater than or equal to 0.95 or unset when thinking is enabled.'
    : undefined;
};

const checkEffort: Rule = ({ request: { output_config: config }, facts: { efforts } }) => {
  if (!config?.effort || efforts.includes(config.effort)) return undefined;
  if (!efforts.length) return 'This model does not support the effort parameter.';
  return (
    `This model does not support effort level '${config.effort}'. Supported levels: ` +
    `${efforts.toSorted().join(', ')}.`
  );
};

/** The first object that is left open, or keyword the vendor's structured output does not know. */
function findOpenObject(schema: unknown): string | undefined {
  if (Array.isArray(schema)) return schema.map(findOpenObject).find(Boolean);
  if (!isObject(schema)) return undefined;
  const type = typeof schema.type === 'string' ? schema.type : '';
  if (type === 'object' && schema.additionalProperties !== false)
    return "For 'object' type, 'additionalProperties' must be explicitly set to false";
  const unknown = [
    'minimum',
    'maximum',
    'exclusiveMinimum',
    'exclusiveMaximum',
    'multipleOf',
    'minLength',
    'maxLength',
    'maxItems',
    'uniqueItems',
  ].filter((word) => word in schema && typeof schema[word] !== 'object');
  if (unknown.length) return `For '${type}' type, properties ${unknown.join(', ')} are not supported`;
  return Object.values(schema).map(findOpenObject).find(Boolean);
}

const checkAnswerSchema: Rule = ({ request: { output_config: config }, facts }) => {
  if (!config?.format) return undefined;
  if (!facts.structuredOutput)
    return 'output_config.format: structured outputs are not supported by this model.';
  const fault = findOpenObject(config.format.schema);
  return fault && `output_config.format.schema: ${fault}`;
};

function isCustom(tool: Tool): tool is Extract<Tool, { input_schema: unknown }> {
  return 'input_schema' in tool;
}

const checkToolSchemas: Rule = ({ request: { tools = [] } }) => {
  for (const [place, tool] of tools.entries()) {
    if (!isCustom(tool)) continue;
    if (['oneOf', 'allOf', 'anyOf'].some((word) => word in tool.input_schema)) {
      return (
        `tools.${place}.custom.input_schema: input_schema does not support oneOf, allOf, ` +
        'or anyOf at the top level'
      );
    }
    const fault = tool.strict ? findOpenObject(tool.input_schema) : undefined;
    if (fault) return `tools.${place}.custom: ${fault}`;
  }
  const names = tools.map(({ name }) => name);
  return names.some((name, place) => names.indexOf(name) < place)
    ? 'tools: Tool names must be unique.'
    : undefined;
};

const checkChoice: Rule = ({ request: { tools = [], tool_choice: wanted } }) => {
  if (!wanted) return undefined;
  if (!tools.length && wanted.type !== 'none')
    return 'tool_choice: tool_choice may only be specified while providing tools.';
  return wanted.type === 'tool' && !tools.some(({ name }) => name === wanted.name)
    ? `Tool '${wanted.name}' not found in provided tools`
    : undefined;
};

const checkStops: Rule = ({ request: { stop_sequences: sequences = [] } }) =>
  sequences.some((one) => !one.trim())
    ? 'stop_sequences: each stop sequence must contain non-whitespace'
    : undefined;

/** What the first bytes of a medium say it is. */
function detectMedium(data: string): string | undefined {
  const head = Buffer.from(data.slice(0, 32), 'base64').toString('latin1');
  if (head.startsWith('\x89PNG')) return 'image/png';
  if (head.startsWith('\xff\xd8\xff')) return 'image/jpeg';
  if (head.startsWith('GIF8')) return 'image/gif';
  if (head.startsWith('%PDF')) return 'application/pdf';
  return head.startsWith('RIFF') && head.slice(8, 12) === 'WEBP' ? 'image/webp' : undefined;
}

const checkMedia: Rule = ({ request: { messages } }) => {
  for (const [place, { content }] of messages.entries()) {
    for (const [position, outer] of (typeof content === 'string' ? [] : content).entries()) {
      const inner = outer.type === 'tool_result' && Array.isArray(outer.content) ? outer.content : [];
      for (const block of [outer, ...inner]) {
        if ((block.type !== 'image' && block.type !== 'document') || block.source.type !== 'base64') continue;
        const found = detectMedium(block.source.data);
        const at = `messages.${place}.content.${position}.${block.type}.source.base64`;
        if (block.type === 'document' && found !== 'application/pdf')
          return `${at}: The PDF specified was not valid.`;
        if (found === undefined) return `${at}: Could not process image`;
        if (found !== block.source.media_type)
          return (
            `${at}: The image was specified using the ${block.source.media_type} ` +
            `media type, but the image appears to be a ${found} image`
          );
      }
    }
  }
  return undefined;
};

export const rules: readonly Rule[] = [
  checkWithdrawn,
  checkUserCitations,
  checkSampling,
  checkLimit,
  checkThinkingKind,
  checkThinkingFit,
  checkEffort,
  checkAnswerSchema,
  checkToolSchemas,
  checkChoice,
  checkStops,
  checkMedia,
];
