/** Encodes tools and the tool choice. */
import type { CanonicalRequest, Tool, HostedTool } from '../../../core/index.ts';
import {
  placeTools,
  removeRepeatedTools,
  replaceHosted,
  translateSearchOptions,
  addSearchLimit,
  type SearchWriters,
} from '../../shared/wire-kit/hosted-tools.ts';
import { refusePart, type Lose } from '../../shared/wire-kit/losses.ts';
import { toObjectSchema } from '../../shared/wire-kit/object-schema.ts';
import {
  askedInWords,
  askForCall,
  convertToFunction,
  loseNamespaces,
  loseChoice,
  takesTools,
} from '../../shared/wire-kit/offered-tools.ts';
import { isObject, overlay, type Fields } from '../../shared/wire-kit/vendor-bag.ts';
import { bag, protocolName } from './bag.ts';
import { readFlags, type Encoding } from './encoding.ts';
import { tightenSchema } from './structured-output.ts';
import { fitName } from './tool-names.ts';

type FunctionTool = Extract<Tool, { type: 'function' }>;

interface EncodedTools {
  readonly tools?: readonly Fields[] | undefined;
  readonly choice?: Fields | undefined;
  /** The instruction that replaces a choice which the model refuses. */
  readonly instruction?: string;
}

export function encodeTools(request: CanonicalRequest, encoding: Encoding): EncodedTools {
  const { model, lose } = encoding;
  if (!request.tools || !takesTools(request, model, lose)) return {};
  loseNamespaces(request.tools, protocolName, lose);
  const allowed = request.toolChoice?.mode === 'subset' ? new Set(request.toolChoice.names) : undefined;
  const tools = removeRepeatedTools(placeTools(addSearchLimit(request)), encoding).flatMap(({ tool, path }) =>
    isAllowed(tool, allowed) ? encodeTool(tool, path, encoding) : [],
  );
  const choice = encodeChoice(request);
  // Anthropic refuses a choice without tools, or of a tool that was lost.
  const named = choice?.type === 'tool' ? choice.name : undefined;
  if (tools.length > 0 && (named === undefined || tools.some(({ name }) => name === named)))
    return offerChosen(tools, choice, encoding);
  loseChoice(request, lose);
  return tools.length > 0 ? { tools, choice: encodeChoice({ ...request, toolChoice: undefined }) } : {};
}

/** Some models refuse a choice that demands a call. They are offered nothing but the chosen tools. */
function offerChosen(
  tools: readonly Fields[],
  choice: Fields | undefined,
  { model, lose }: Encoding,
): EncodedTools {
  const demands = choice?.type === 'any' || choice?.type === 'tool';
  if (!demands || readFlags(model.capabilities).forcesTools) return { tools, choice };
  lose('toolChoice', askedInWords, 'approximated');
  const { name: chosen, ...rest } = choice;
  const offered = chosen === undefined ? tools : tools.filter(({ name }) => name === chosen);
  return {
    tools: offered,
    choice: { ...rest, type: 'auto' },
    instruction: askForCall(offered.map(({ name }) => name)),
  };
}

/** Whether the choice allows a tool. Google's list of allowed tools does not restrict hosted ones. */
function isAllowed(tool: Tool, allowed: ReadonlySet<string> | undefined): boolean {
  return !allowed || (tool.type === 'hosted' ? tool.protocol === 'generate-content' : allowed.has(tool.name));
}

const goodProperty = /^[a-zA-Z0-9_.-]{1,64}$/;

/** Fits the schema of another protocol's tool. A strict one keeps only keywords that Anthropic enforces. */
function fitInputSchema(tool: FunctionTool, path: string, strict: boolean, lose: Lose): Fields {
  const schema = toObjectSchema(tool.schema, path, lose);
  const named = isObject(schema.properties) ? Object.keys(schema.properties) : [];
  const strange = named.find((name) => !goodProperty.test(name));
  if (strange !== undefined) {
    const rule =
      'The provider of this model accepts names of arguments with at most 64 letters, digits, "_", "." and ' +
      '"-"';
    refusePart(tool, path, `${rule}; the tool "${tool.name}" has one called "${strange.slice(0, 64)}".`);
  }
  const fitted = strict ? tightenSchema(schema, path, lose) : schema;
  return isObject(fitted) ? fitted : schema;
}

function encodeTool(tool: Tool, path: string, encoding: Encoding): Fields[] {
  if (tool.type === 'hosted') return encodeHosted(tool, path, encoding);
  const { model, mark, lose } = encoding;
  const fields = bag.getFields(tool);
  const name = fitName(tool.name);
  const cache_control = mark(tool.cache, path);
  if (tool.type === 'custom') {
    const { description, schema } = convertToFunction(tool, path, lose);
    return [overlay(fields, { name, description, input_schema: schema, cache_control })];
  }
  // A tool that Anthropic defines: its type says what it takes.
  if (fields.type !== undefined) return [overlay(fields, { name, cache_control })];
  const { description } = tool;
  const strict = tool.strict && model.capabilities.structuredOutput ? true : undefined;
  if (tool.strict && !model.capabilities.structuredOutput)
    lose(`${path}.strict`, 'the model does not enforce schemas', 'model');
  return [
    overlay(fields, {
      name,
      description,
      input_schema: fitInputSchema(tool, path, strict ?? false, lose),
      strict,
      cache_control,
    }),
  ];
}

const searchWords: SearchWriters = {
  location: (place) => ({ user_location: { type: 'approximate', ...(isObject(place) ? place : {}) } }),
  allowed: (domains) => ({ allowed_domains: domains }),
  blocked: (domains) => ({ blocked_domains: domains }),
  uses: (count) => ({ max_uses: count }),
};

function encodeHosted(tool: HostedTool, path: string, encoding: Encoding): Fields[] {
  if (tool.protocol === protocolName) return [tool.value];
  const encodeSearch = (): Fields => {
    const options = translateSearchOptions(tool, path, searchWords, encoding.lose);
    return { type: 'web_search_20250305', name: 'web_search', ...options };
  };
  const code = { type: 'code_execution_20250825', name: 'code_execution' };
  const replaced = replaceHosted(tool, path, encoding, { encodeSearch, code });
  return replaced ? [replaced] : [];
}

const types = { auto: 'auto', required: 'any', one: 'tool', none: 'none', subset: 'auto' } as const;

function encodeChoice({ toolChoice, parallelToolCalls }: CanonicalRequest): Fields | undefined {
  if (!toolChoice)
    return parallelToolCalls === false ? { type: 'auto', disable_parallel_tool_use: true } : undefined;
  const { mode, names = [], required } = toolChoice;
  const type = mode === 'subset' && required ? 'any' : types[mode];
  return overlay(bag.getFields(toolChoice), {
    type,
    name: type === 'tool' ? fitName(names[0] ?? '') : undefined,
    disable_parallel_tool_use:
      type === 'none' || parallelToolCalls === undefined ? undefined : !parallelToolCalls,
  });
}
