/** Rules that depend on several fields of a request, or on the model. Each returns a complaint or nothing. */
import { isObject } from '../../json.ts';
import type { GeminiFacts } from './models.ts';
import type { GeminiRequest } from './request.ts';

type Found = { readonly at: string; readonly fault: string } | undefined;

/** The formats of its own subset of OpenAPI, in `parameters`; `parametersJsonSchema` is JSON Schema. */
const formats: Readonly<Record<string, readonly string[]>> = {
  STRING: ['enum', 'date-time'],
  NUMBER: ['float', 'double'],
  INTEGER: ['int32', 'int64'],
};

function findFirst<Value>(values: Iterable<Value>, look: (value: Value) => Found): Found {
  for (const value of values) {
    const found = look(value);
    if (found) return found;
  }
  return undefined;
}

/** What is wrong with a schema of Google's own kind, whose fields are known to exist. */
function checkOpenApiSchema(schema: unknown, at: string): Found {
  if (!isObject(schema)) return undefined;
  const type = typeof schema.type === 'string' ? schema.type : undefined;
  const { format, properties, required, items, enum: values, anyOf } = schema;
  const named = isObject(properties) ? properties : {};
  if (!type && !anyOf) return { at, fault: 'schema must specify a type' };
  if (typeof format === 'string' && type && !(formats[type] ?? []).includes(format))
    return {
      at: `${at}.format`,
      fault:
        `only ${(formats[type] ?? []).map((one) => `'${one}'`).join(' and ') || 'no format'} ` +
        `is supported for ${type} type`,
    };
  if (type === 'ARRAY' && items === undefined) return { at: `${at}.items`, fault: 'missing field.' };
  if (Array.isArray(values) && type !== 'STRING')
    return { at: `${at}.enum`, fault: 'only allowed for STRING type' };
  if (Array.isArray(values) && values.includes(''))
    return { at: `${at}.enum[${values.indexOf('')}]`, fault: 'cannot be empty' };
  const missing = Array.isArray(required)
    ? required.findIndex((name) => typeof name === 'string' && !Object.hasOwn(named, name))
    : -1;
  if (missing >= 0) return { at: `${at}.required[${missing}]`, fault: 'property is not defined' };
  return (
    findFirst(Object.entries(named), ([name, inner]) =>
      checkOpenApiSchema(inner, `${at}.properties[${name}]`),
    ) ??
    checkOpenApiSchema(items, `${at}.items`) ??
    findFirst((Array.isArray(anyOf) ? anyOf : []).entries(), ([place, inner]) =>
      checkOpenApiSchema(inner, `${at}.any_of[${place}]`),
    )
  );
}

/** What is wrong with a JSON Schema: a reference that leads out, or one with anything beside it. */
function checkJsonSchema(schema: unknown, at: string): Found {
  if (Array.isArray(schema))
    return findFirst(schema.entries(), ([place, inner]) => checkJsonSchema(inner, `${at}[${place}]`));
  if (!isObject(schema)) return undefined;
  const { $ref: reference } = schema;
  if (typeof reference === 'string') {
    if (!/^#\/(\$defs|definitions)\//.test(reference))
      return { at, fault: `reference to undefined schema "${reference}"` };
    const beside = Object.keys(schema).find((name) => !name.startsWith('$'));
    if (beside) return { at, fault: `"$ref" cannot be combined with "${beside}"` };
  }
  return findFirst(Object.entries(schema), ([name, inner]) =>
    typeof inner === 'object' ? checkJsonSchema(inner, `${at}.${name}`) : undefined,
  );
}

type Rule = (request: GeminiRequest, facts: GeminiFacts) => string | undefined;

function isOutside(value: number | undefined, low: number, high: number): boolean {
  return value !== undefined && (value < low || value > high);
}

const checkRanges: Rule = ({ generationConfig: config }, { outputLimit }) => {
  const describeRange = (name: string, value: number, low: number, high: string): string =>
    `Unable to submit request because it has a ${name} value of ${value} but the supported range is from ` +
    `${low} (inclusive) to ${high}. Update the value and try again.`;
  if (isOutside(config.temperature, 0, 2))
    return describeRange('temperature', config.temperature ?? 0, 0, '2.0 (inclusive)');
  if (isOutside(config.topP, 0, 1)) return describeRange('topP', config.topP ?? 0, 0, '1.0 (inclusive)');
  if (isOutside(config.topK, 1, Infinity))
    return describeRange('topK', config.topK ?? 0, 1, '65 (exclusive)');
  if (isOutside(config.maxOutputTokens, 1, outputLimit))
    return describeRange('maxOutputTokens', config.maxOutputTokens ?? 0, 1, `${outputLimit + 1} (exclusive)`);
  if (isOutside(config.candidateCount, 1, 8))
    return describeRange('candidateCount', config.candidateCount ?? 0, 1, '9 (exclusive)');
  for (const name of ['presencePenalty', 'frequencyPenalty'] as const)
    if (isOutside(config[name], -2, 1.999_999))
      return describeRange(name, config[name] ?? 0, -2, '2.0 (exclusive)');
  return config.stopSequences.length > 5
    ? `The number of stop sequences ${config.stopSequences.length} is greater than the maximum number of 5.`
    : undefined;
};

const checkLogprobs: Rule = ({ generationConfig: { responseLogprobs, logprobs: wanted } }) => {
  if (wanted !== undefined && !responseLogprobs)
    return 'Logprobs is only allowed when responseLogprobs is true.';
  return isOutside(wanted, 0, 20) ? 'Logprobs must be between 0 and 20.' : undefined;
};

const checkThinking: Rule = (
  { generationConfig: { thinkingConfig: config } },
  { thinking: kind, budget, levels, generation },
) => {
  if (!config) return undefined;
  const { thinkingBudget: wanted, thinkingLevel: level } = config;
  if (kind === 'none')
    return Object.keys(config).length
      ? 'Unable to submit request because thinking is not supported by this model.'
      : undefined;
  if (wanted !== undefined && level !== undefined)
    return 'You can only set only one of thinking budget and thinking level.';
  if (level !== undefined && generation < 3) return 'Thinking level is not supported for this model.';
  if (level !== undefined && !levels.includes(level))
    return `Thinking level ${level} is not supported for this model. Please retry with other thinking level.`;
  if (wanted === undefined || wanted === -1) return undefined;
  if (wanted === 0)
    return budget.canDisable ? undefined : 'Budget 0 is invalid. This model only works in thinking mode.';
  return isOutside(wanted, budget.min, budget.max)
    ? `The thinking budget ${wanted} is invalid. Please choose a value between ${budget.min} ` +
        `and ${budget.max}.`
    : undefined;
};

const checkAnswer: Rule = (
  { generationConfig: config, tools },
  { generation, drawsImages, speaks = false },
) => {
  const {
    responseMimeType: mime,
    responseSchema: schema,
    responseJsonSchema: json,
    responseModalities: modalities,
  } = config;
  if (schema && json !== undefined) return 'response_schema and response_json_schema cannot both be set.';
  const structured = schema !== undefined || json !== undefined;
  if (mime !== undefined && !['text/plain', 'application/json', 'text/x.enum'].includes(mime))
    return (
      '* GenerateContentRequest.generation_config.response_mime_type: ' +
      'allowed mimetypes are `text/plain`, `application/json`, `application/xml`, ' +
      '`application/yaml` and `text/x.enum`.\n'
    );
  if (structured && mime !== 'application/json' && mime !== 'text/x.enum')
    return (
      '* GenerateContentRequest.generation_config.response_mime_type: ' +
      'application/json is required to use a response schema.\n'
    );
  if (
    mime === 'application/json' &&
    tools.some(({ functionDeclarations }) => functionDeclarations.length) &&
    generation < 3
  )
    return "Function calling with a response mime type: 'application/json' is unsupported";
  if (modalities.includes('IMAGE') && !drawsImages)
    return 'The requested combination of response modalities (TEXT, IMAGE) is not supported by the model.';
  if (speaks ? modalities.join() !== 'AUDIO' : modalities.includes('AUDIO'))
    return (
      `The requested combination of response modalities (${modalities.join(', ') || 'TEXT'}) is not ` +
      'supported by the model.'
    );
  const found = schema
    ? checkOpenApiSchema(schema, 'GenerateContentRequest.generation_config.response_schema')
    : checkJsonSchema(json, 'GenerateContentRequest.generation_config.response_json_schema');
  return found && `* ${found.at}: ${found.fault}\n`;
};

const checkDeclarations: Rule = ({ tools }) => {
  const seen = new Set<string>();
  for (const [place, { functionDeclarations }] of tools.entries()) {
    for (const [
      position,
      { name, parameters, parametersJsonSchema: json },
    ] of functionDeclarations.entries()) {
      const at = `GenerateContentRequest.tools[${place}].function_declarations[${position}]`;
      if (!/^[a-zA-Z_][a-zA-Z0-9_.:-]{0,63}$/.test(name)) {
        return (
          `* ${at}.name: Invalid function name. Must start with a letter or an underscore. ` +
          'Must be alphanumeric (a-z, A-Z, 0-9), underscores (_), dots (.), colons (:), or dashes (-), ' +
          'with a maximum length of 64.\n'
        );
      }
      if (seen.has(name)) return `Duplicate function declaration found: ${name}`;
      seen.add(name);
      if (parameters && json !== undefined)
        return `* ${at}: parameters and parameters_json_schema cannot both be set.\n`;
      const root = typeof json === 'object' && json !== null && 'type' in json ? json.type : undefined;
      if (json !== undefined && root !== 'object')
        return `* ${at}.parameters_json_schema: the schema must be of type object.\n`;
      if (parameters && parameters.type !== 'OBJECT') return `* ${at}.parameters.type: must be OBJECT\n`;
      const found = parameters
        ? checkOpenApiSchema(parameters, `${at}.parameters`)
        : checkJsonSchema(json, `${at}.parameters_json_schema`);
      if (found) return `* ${found.at}: ${found.fault}\n`;
    }
  }
  return undefined;
};

const checkChoice: Rule = ({ tools, toolConfig }) => {
  const config = toolConfig?.functionCallingConfig;
  if (!config) return undefined;
  const { mode = 'AUTO', allowedFunctionNames: allowed } = config;
  const names = tools.flatMap(({ functionDeclarations }) => functionDeclarations.map(({ name }) => name));
  if (mode === 'ANY' && !names.length) return 'Function calling config is set without function_declarations.';
  if (allowed.length && mode !== 'ANY' && mode !== 'VALIDATED')
    return 'allowed_function_names should only be set when function calling mode is ANY or VALIDATED.';
  const strange = allowed.find((name) => !names.includes(name));
  return strange === undefined
    ? undefined
    : `allowed_function_names contains "${strange}", which is not a declared function.`;
};

const checkMixedTools: Rule = ({ tools, toolConfig }, { generation }) => {
  const calls = tools.some(({ functionDeclarations }) => functionDeclarations.length);
  const hosted = tools.some(
    (tool) => tool.googleSearch ?? tool.googleSearchRetrieval ?? tool.codeExecution ?? tool.urlContext,
  );
  if (!calls || !hosted) return undefined;
  if (generation < 3) return 'Tool use with function calling is unsupported';
  return toolConfig?.includeServerSideToolInvocations
    ? undefined
    : 'Please enable tool_config.include_server_side_tool_invocations to use Built-in tools ' +
        'with Function calling.';
};

const checkCachedContent: Rule = ({ cachedContent, systemInstruction, tools, toolConfig }) =>
  cachedContent && (systemInstruction ?? toolConfig ?? (tools.length > 0 || undefined))
    ? 'CachedContent can not be used with GenerateContent request setting system_instruction, ' +
      'tools or tool_config.'
    : undefined;

export const rules: readonly Rule[] = [
  checkRanges,
  checkLogprobs,
  checkThinking,
  checkAnswer,
  checkDeclarations,
  checkChoice,
  checkMixedTools,
  checkCachedContent,
];
