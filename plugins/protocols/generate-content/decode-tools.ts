/**
 * Decodes tools and the tool choice. Google groups functions, and puts hosted tools into the same groups. In
 * the canonical form, each function and each hosted tool is a separate tool.
 */
import type { HostedTool, Tool, ToolChoice } from '../../../core/index.ts';
import { pickUnread, type Fields, splitNames } from '../../shared/wire-kit/vendor-bag.ts';
import { bag, protocolName } from './bag.ts';
import { readOpenApi } from './openapi-schema.ts';
import type * as Wire from './wire.ts';

const searches = splitNames('googleSearch googleSearchRetrieval enterpriseWebSearch');

export function listSearches(tool: Readonly<Record<string, unknown>>): string[] {
  return [...searches].filter((name) => tool[name]);
}

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
    const empty: Fields =
      functions.length === 0 && declared !== undefined ? { functionDeclarations: declared } : {};
    const hosted = Object.entries({ ...empty, ...others }).map(([name, value]): HostedTool => {
      return {
        type: 'hosted',
        protocol: protocolName,
        kind: value ? readHostedKind(name) : 'other',
        value: { [name]: value },
        at: `${at}.${name}`,
      };
    });
    if (functions.length + hosted.length > 0) return [...functions, ...hosted];
    return [{ type: 'hosted', protocol: protocolName, kind: 'other', value: {}, at }];
  });
}

function decodeFunction(declared: Wire.Declaration, at: string): Tool {
  const { name, description, parameters, parametersJsonSchema } = declared;
  return {
    type: 'function',
    name,
    description: description ?? undefined,
    schema: parametersJsonSchema ?? (parameters ? readOpenApi(parameters) : undefined),
    at,
    ...bag.keep(pickUnread(declared, ['name', 'description', 'parameters', 'parametersJsonSchema'])),
  };
}

const knownModes: ReadonlySet<string> = new Set(['AUTO', 'ANY', 'NONE', 'VALIDATED', 'MODE_UNSPECIFIED']);
const callingFields = new Set(['mode', 'allowedFunctionNames']);

/** Returns the choice, and the fields without a canonical name. */
export function decodeToolConfig(config: Wire.Request['toolConfig']): {
  readonly choice: ToolChoice | undefined;
  readonly rest: Fields;
} {
  const { functionCallingConfig: calling, ...others } = config ?? {};
  const choice =
    calling?.mode && knownModes.has(calling.mode.toUpperCase())
      ? decodeChoice(calling.mode, calling.allowedFunctionNames ?? undefined)
      : undefined;
  const inside = calling && pickUnread(calling, choice ? callingFields : new Set());
  const isKept = inside !== undefined && !(choice && inside && Object.keys(inside).length === 0);
  return { choice, rest: isKept ? { ...others, functionCallingConfig: inside } : others };
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
