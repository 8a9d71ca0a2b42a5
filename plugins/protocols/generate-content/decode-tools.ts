/**
 * Tools and the choice among them to canonical ones. Google puts functions into groups, and hosted tools beside
 * them: here each is a tool, with the number of the group it came from.
 */
import type { CanonicalRequest, Tool } from '../../../core/index.ts';
import { leftover, type Fields } from '../../shared/wire-kit/vendor-bag.ts';
import { bag, protocolName } from './bag.ts';
import { fromOpenApi } from './openapi-schema.ts';
import type { WireDeclaration, WireRequest } from './wire.ts';

type ToolChoice = NonNullable<CanonicalRequest['toolChoice']>;
type Hosted = Extract<Tool, { type: 'hosted' }>;

/** The words a function's schema is kept by in the vendor's own form: what follows is its JSON. */
export const openApiForm = 'openapi:';
/** The words that tell which group a tool stood in. */
export const groupForm = 'group:';

const searches: ReadonlySet<string> = new Set([
  'googleSearch',
  'googleSearchRetrieval',
  'enterpriseWebSearch',
]);

/** The names of its searches of the web. */
export function searchesOf(tool: Readonly<Record<string, unknown>>): string[] {
  return [...searches].filter((name) => tool[name]);
}

function kindOf(name: string): Hosted['kind'] {
  if (searches.has(name)) return 'web-search';
  return name === 'codeExecution' ? 'code-execution' : 'other';
}

export function decodeTools(tools: WireRequest['tools']): Tool[] | undefined {
  return tools?.flatMap((tool, index): Tool[] => {
    const at = `tools[${index}]`;
    const group = `${groupForm}${index}`;
    const { functionDeclarations: declared, ...others } = tool;
    const functions =
      declared?.map((each, place) => decodeFunction(each, `${at}.functionDeclarations[${place}]`, group)) ??
      [];
    const empty: Fields =
      functions.length === 0 && declared !== undefined ? { functionDeclarations: declared } : {};
    const hosted = Object.entries({ ...empty, ...others }).map(([name, value]): Hosted => {
      return {
        type: 'hosted',
        protocol: protocolName,
        kind: value ? kindOf(name) : 'other',
        value: { [name]: value },
        at: `${at}.${name}`,
        ...bag.keep({}, [group]),
      };
    });
    if (functions.length + hosted.length > 0) return [...functions, ...hosted];
    return [
      { type: 'hosted', protocol: protocolName, kind: 'other', value: {}, at, ...bag.keep({}, [group]) },
    ];
  });
}

const functionFields = new Set(['name', 'description', 'parameters', 'parametersJsonSchema']);

function decodeFunction(declared: WireDeclaration, at: string, group: string): Tool {
  const { name, description, parameters, parametersJsonSchema } = declared;
  return {
    type: 'function',
    name,
    description: description ?? undefined,
    schema: parametersJsonSchema ?? (parameters ? fromOpenApi(parameters) : undefined),
    at,
    ...bag.keep(leftover(declared, functionFields), [
      group,
      ...(parameters ? [openApiForm + JSON.stringify(parameters)] : []),
    ]),
  };
}

const knownModes: ReadonlySet<string> = new Set(['AUTO', 'ANY', 'NONE', 'VALIDATED', 'MODE_UNSPECIFIED']);
const callingFields = new Set(['mode', 'allowedFunctionNames']);

export interface ReadToolConfig {
  readonly choice: ToolChoice | undefined;
  /** What has no canonical name. */
  readonly rest: Fields;
}

export function decodeToolConfig(config: WireRequest['toolConfig']): ReadToolConfig {
  const { functionCallingConfig: calling, ...others } = config ?? {};
  const choice =
    calling?.mode && knownModes.has(calling.mode.toUpperCase())
      ? decodeChoice(calling.mode, calling.allowedFunctionNames ?? undefined)
      : undefined;
  const inside = calling && leftover(calling, choice ? callingFields : new Set());
  const told = inside !== undefined && !(choice && inside && Object.keys(inside).length === 0);
  return { choice, rest: told ? { ...others, functionCallingConfig: inside } : others };
}

/** The mode is kept where it is not the one this choice is written with. */
function decodeChoice(mode: string, names: readonly string[] | undefined): ToolChoice {
  const kept = { ...(names ? { names: [...names] } : {}), ...bag.keep({}, [`mode:${mode}`]) };
  switch (mode.toUpperCase()) {
    case 'NONE':
      return { mode: 'none', ...kept };
    case 'ANY':
      if (!names?.length) return { mode: 'required', ...kept };
      return names.length === 1 ? { mode: 'one', ...kept } : { mode: 'subset', required: true, ...kept };
    case 'VALIDATED':
      if (names?.length) return { mode: 'subset', required: false, ...kept };
      // That calls keep to their schemas is all it says beyond `AUTO`, and nobody else is told it so.
      return { mode: 'auto', ...kept, ...bag.keep({ mode }, [`mode:${mode}`]) };
    default:
      return { mode: 'auto', ...kept };
  }
}
