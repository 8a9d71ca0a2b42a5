/** Tools, and the choice among them, as this wire groups and names them. */
import { isDeepStrictEqual } from 'node:util';
import type { CanonicalRequest, Model, Tool } from '../../../core/index.ts';
import {
  checkContainer,
  hosts,
  loseHosted,
  withoutForbidden,
  withoutRepeats,
  searchOptions,
  type HostedTool,
} from '../../shared/wire-kit/hosted-tools.ts';
import { asFunction, loseNamespaces, loseChoice, offeredNames } from '../../shared/wire-kit/offered-tools.ts';
import { isObject, overlay, type Fields } from '../../shared/wire-kit/vendor-bag.ts';
import { bag, protocolName } from './bag.ts';
import { groupForm, openApiForm } from './decode-tools.ts';
import type { Encoding } from './encoding.ts';
import { fitParameters } from './fit-schema.ts';
import { fromOpenApi } from './openapi-schema.ts';
import { fitName } from './tool-names.ts';

type OwnTool = Exclude<Tool, { type: 'hosted' }>;

export function encodeTools(request: CanonicalRequest, model: Model, encoding: Encoding): Fields {
  const { capabilities } = model;
  const { lose, own } = encoding;
  if (!capabilities.tools && !own) {
    if (request.tools?.length) lose('tools', 'the model takes no tools', 'model');
    return {};
  }
  loseNamespaces(request.tools ?? [], protocolName, lose);
  const tools = own ? restoreGroups(request.tools, encoding) : groupTools(request, model, encoding);
  if (request.parallelToolCalls === false && tools?.length)
    lose('parallelToolCalls', 'generate-content cannot forbid parallel calls');
  // A choice among no functions is refused by the vendor; a client of this protocol is left to hear that itself.
  const choosable = own || request.tools?.some(({ type }) => type !== 'hosted');
  const calling = choosable ? encodeChoice(request, encoding) : undefined;
  if (!choosable) loseChoice(request, lose);
  return {
    tools: tools?.length || own ? tools : undefined,
    toolConfig: calling && { functionCallingConfig: calling },
  };
}

/** The groups of a client of this protocol, each tool where it stood; tools that were added later make one of their own. */
function restoreGroups(tools: CanonicalRequest['tools'], encoding: Encoding): Fields[] | undefined {
  if (!tools) return undefined;
  const groups = Map.groupBy([...tools.entries()], ([, tool]) =>
    bag.form(tool).find((word) => word.startsWith(groupForm)),
  );
  return [...groups.values()].map((group) => {
    const functions: Fields[] = [];
    const hosted: Record<string, unknown> = {};
    for (const [index, tool] of group) {
      if (tool.type !== 'hosted') functions.push(encodeFunction(tool, `tools[${index}]`, encoding));
      else if (isObject(tool.value)) Object.assign(hosted, tool.value);
    }
    return functions.length > 0 ? { ...hosted, functionDeclarations: functions } : hosted;
  });
}

function groupTools(request: CanonicalRequest, model: Model, encoding: Encoding): Fields[] {
  const functions: Fields[] = [];
  const hosted: Fields[] = [];
  const tools = withoutForbidden(request);
  const calls = tools.some((tool) => tool && tool.type !== 'hosted');
  for (const [index, tool] of withoutRepeats(tools, protocolName, encoding.lose).entries()) {
    const path = `tools[${index}]`;
    if (!tool) continue;
    if (tool.type !== 'hosted') functions.push(encodeFunction(tool, path, encoding));
    else for (const entry of encodeHosted(tool, path, calls, model, encoding)) hosted.push(entry);
  }
  return [...(functions.length > 0 ? [{ functionDeclarations: functions }] : []), ...hosted];
}

function encodeHosted(
  tool: HostedTool,
  path: string,
  besideFunctions: boolean,
  model: Model,
  { lose }: Encoding,
): Fields[] {
  const { protocol, kind, value } = tool;
  if (protocol === protocolName && isObject(value)) return [value];
  if (!hosts(model, kind)) {
    loseHosted(tool, path, lose);
    return [];
  }
  if (kind === 'web-search' && besideFunctions) {
    lose(path, 'Gemini does not search beside functions', 'model');
    return [];
  }
  if (kind === 'web-search') return [{ googleSearch: searchOptions(tool, path, {}, lose) }];
  checkContainer(tool, path);
  return [{ codeExecution: {} }];
}

function encodeFunction(tool: OwnTool, path: string, encoding: Encoding): Fields {
  const { lose, own } = encoding;
  if (tool.cache) lose(`${path}.cache`, 'Gemini finds what to cache by itself');
  const name = own ? tool.name : fitName(tool.name);
  if (tool.type === 'custom') {
    const { description, schema: parametersJsonSchema } = asFunction(tool, path, lose);
    return { name, description, parametersJsonSchema };
  }
  if (tool.strict) lose(`${path}.strict`, 'generate-content has no such switch');
  return overlay(bag.fields(tool), {
    name,
    description: tool.description,
    ...parametersOf(tool, path, encoding),
  });
}

/** A schema in the vendor's own form is restored, unless it was changed meanwhile. */
export function openApiOf(form: readonly string[], schema: unknown): unknown {
  const word = form.find((each) => each.startsWith(openApiForm));
  const original: unknown = word === undefined ? undefined : JSON.parse(word.slice(openApiForm.length));
  return isDeepStrictEqual(fromOpenApi(original), schema) ? original : undefined;
}

function parametersOf(
  tool: Extract<Tool, { type: 'function' }>,
  path: string,
  { own, lose }: Encoding,
): Fields {
  const { schema } = tool;
  if (schema === undefined) return {};
  const parameters = own ? openApiOf(bag.form(tool), schema) : undefined;
  if (parameters !== undefined) return { parameters };
  return {
    parametersJsonSchema: own
      ? schema
      : fitParameters(schema, (reason) => lose(`${path}.schema`, reason, 'approximated')),
  };
}

const modes = { auto: 'AUTO', none: 'NONE', required: 'ANY', one: 'ANY' } as const;

/** The mode as it was written; `VALIDATED` is the only one that binds a model to some tools and leaves it to call none. */
function encodeChoice(request: CanonicalRequest, { own, lose }: Encoding): Fields | undefined {
  const { toolChoice } = request;
  if (!toolChoice) return undefined;
  const { mode, names, required } = toolChoice;
  const written = bag
    .form(toolChoice)
    .find((word) => word.startsWith('mode:'))
    ?.slice('mode:'.length);
  const usual = mode === 'subset' ? (required ? 'ANY' : 'VALIDATED') : modes[mode];
  if (own) return { mode: written ?? usual, ...(names ? { allowedFunctionNames: names } : {}) };
  if (names === undefined) return { mode: usual };
  const offered = offeredNames(request, lose);
  return offered.length > 0 ? { mode: usual, allowedFunctionNames: offered.map(fitName) } : undefined;
}
