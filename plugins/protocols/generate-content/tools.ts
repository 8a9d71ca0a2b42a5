/**
 * Tools and the tool choice in both directions. Google groups functions, and puts hosted tools into the same
 * groups. In the canonical form, each function and each hosted tool is a separate tool.
 */
import type { CanonicalRequest, HostedTool, OwnTool, Tool, ToolChoice } from '../../../core/index.ts';
import {
  replaceHosted,
  translateSearchOptions,
  type PlacedTool,
} from '../../shared/wire-kit/hosted-tools.ts';
import { convertToFunction, loseChoice, selectOfferedNames } from '../../shared/wire-kit/offered-tools.ts';
import {
  overlay,
  trackReads,
  splitNames,
  type Fields,
  type Tracked,
} from '../../shared/wire-kit/vendor-bag.ts';
import { loseMark } from './content.ts';
import { bag, fitName, protocolName, readFlags, type Encoding } from './encoding.ts';
import { fitParameters, readOpenApi } from './schema.ts';
import type * as Wire from './wire.ts';

export const searches = splitNames('googleSearch googleSearchRetrieval enterpriseWebSearch');

function readHostedKind(name: string): HostedTool['kind'] {
  if (searches.has(name)) return 'web-search';
  return name === 'codeExecution' ? 'code-execution' : 'other';
}

export function decodeTools(tools: Wire.Request['tools']): Tool[] | undefined {
  return tools?.flatMap((tool, index): Tool[] => {
    const at = `tools[${index}]`;
    const { functionDeclarations: declared, ...others } = tool;
    const functions =
      declared?.map((each, place) => decodeFunction(each, `${at}.functionDeclarations[${place}]`)) ?? [];
    // An empty list of functions, or an empty group, is kept like a tool of Google's own.
    const kept = functions.length > 0 || declared === undefined ? others : tool;
    const hosted = Object.entries(kept).map(([name, value]) =>
      buildHosted({ [name]: value }, value ? readHostedKind(name) : 'other', `${at}.${name}`),
    );
    return functions.length + hosted.length > 0 ? [...functions, ...hosted] : [buildHosted({}, 'other', at)];
  });
}

function buildHosted(value: Record<string, unknown>, kind: HostedTool['kind'], at: string): HostedTool {
  return { type: 'hosted', protocol: protocolName, kind, value, at };
}

function decodeFunction(declared: Wire.Declaration, at: string): Tool {
  const { seen, pickRest } = trackReads(declared);
  const { name, description, parameters, parametersJsonSchema } = seen;
  return {
    type: 'function',
    name,
    description: description ?? undefined,
    schema: parametersJsonSchema ?? (parameters ? readOpenApi(parameters) : undefined),
    at,
    ...bag.keep(pickRest()),
  };
}

const knownModes: ReadonlySet<string> = new Set(['AUTO', 'ANY', 'NONE', 'VALIDATED', 'MODE_UNSPECIFIED']);

/** A choice of an unknown mode is kept with its names. */
export function decodeToolChoice({ open }: Tracked<Wire.Request>): ToolChoice | undefined {
  const config = open('toolConfig');
  const { mode, allowedFunctionNames: names } = config?.open('functionCallingConfig')?.seen ?? {};
  if (mode && knownModes.has(mode.toUpperCase())) return decodeChoice(mode, names ?? undefined);
  config?.keep('functionCallingConfig');
  return undefined;
}

function decodeChoice(mode: string, names: readonly string[] | undefined): ToolChoice {
  const kept = names ? { names: [...names] } : {};
  switch (mode.toUpperCase()) {
    case 'NONE':
      return { mode: 'none', ...kept };
    case 'ANY':
      if (!names?.length) return { mode: 'required', ...kept };
      return names.length === 1 ? { mode: 'one', ...kept } : { mode: 'subset', required: true, ...kept };
    case 'VALIDATED':
      if (names?.length) return { mode: 'subset', required: false, ...kept };
      // Without names, it differs from `AUTO` only in that calls match their schemas. Other protocols report
      // this as lost.
      return { mode: 'auto', ...kept, ...bag.keep({ mode }) };
    default:
      return { mode: 'auto', ...kept };
  }
}

export function encodeTools(
  request: CanonicalRequest,
  offered: readonly PlacedTool[] | undefined,
  encoding: Encoding,
): Fields {
  const { lose, model } = encoding;
  if (!offered) return {};
  const hasFunctions = offered.some(({ tool }) => tool.type !== 'hosted');
  const functions: Fields[] = [];
  const hosted: Fields[] = [];
  for (const { tool, path } of offered) {
    if (tool.type !== 'hosted') functions.push(encodeFunction(tool, path, encoding));
    else for (const value of encodeHosted(tool, path, hasFunctions, encoding)) hosted.push(value);
  }
  const tools = [...(functions.length > 0 ? [{ functionDeclarations: functions }] : []), ...hosted];
  if (request.parallelToolCalls === false && tools.length > 0)
    lose('parallelToolCalls', 'generate-content cannot forbid parallel calls');
  const isMixed =
    functions.length > 0 && hosted.length > 0 && readFlags(model.capabilities).mixedTools === true;
  const toolConfig = {
    ...encodeChoice(request, isMixed, encoding),
    ...(isMixed && { includeServerSideToolInvocations: true }),
  };
  return {
    tools: tools.length > 0 ? tools : undefined,
    toolConfig: Object.keys(toolConfig).length > 0 ? toolConfig : undefined,
  };
}

function encodeHosted(
  tool: HostedTool,
  path: string,
  hasFunctions: boolean,
  encoding: Encoding,
): readonly Fields[] {
  const { protocol, value } = tool;
  if (protocol === protocolName) return [value];
  const { lose } = encoding;
  const replaced = replaceHosted(tool, path, encoding, {
    encodeSearch() {
      if (!hasFunctions || readFlags(encoding.model.capabilities).mixedTools)
        return { googleSearch: translateSearchOptions(tool, path, {}, lose) };
      lose(path, 'the model does not support search together with functions', 'model');
      return undefined;
    },
    code: { codeExecution: {} },
  });
  return replaced ? [replaced] : [];
}

function encodeFunction(tool: OwnTool, path: string, encoding: Encoding): Fields {
  const { inPlace, lose } = encoding;
  loseMark(tool, path, encoding);
  const name = inPlace ? tool.name : fitName(tool.name);
  if (tool.type === 'custom') {
    const { description, schema: parametersJsonSchema } = convertToFunction(tool, path, lose);
    return { name, description, parametersJsonSchema };
  }
  if (tool.strict) lose(`${path}.strict`, 'generate-content has no such field');
  const { description, schema } = tool;
  const loseRule = (reason: string): void => lose(`${path}.schema`, reason, 'approximated');
  return overlay(bag.getFields(tool), {
    name,
    description,
    parametersJsonSchema: schema === undefined ? undefined : fitParameters(schema, loseRule),
  });
}

function fitMode({ mode, required }: ToolChoice): string {
  // Only `VALIDATED` limits a model to some tools without forcing a call.
  if (mode === 'subset') return required ? 'ANY' : 'VALIDATED';
  return { auto: 'AUTO', none: 'NONE', required: 'ANY', one: 'ANY' }[mode];
}

/** `isMixed`: functions are offered beside tools of Google's own. */
function encodeChoice(
  request: CanonicalRequest,
  isMixed: boolean,
  { inPlace, lose }: Encoding,
): Fields | undefined {
  const { toolChoice, tools = [] } = request;
  // Google refuses a choice without functions.
  if (tools.every(({ type }) => type === 'hosted')) return void loseChoice(request, lose);
  // For a mixture Google's default is "VALIDATED", and its guide rules out "AUTO".
  if (!toolChoice || (isMixed && toolChoice.mode === 'auto')) return undefined;
  const mode = fitMode(toolChoice);
  if (toolChoice.names === undefined) return { functionCallingConfig: { mode } };
  const offered = selectOfferedNames(request, lose);
  const allowedFunctionNames = inPlace ? offered : offered.map(fitName);
  return offered.length > 0 ? { functionCallingConfig: { mode, allowedFunctionNames } } : undefined;
}
