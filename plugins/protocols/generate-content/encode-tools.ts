/** Encodes tools and the tool choice, with the groups and names of this protocol. */
import type { CanonicalRequest, HostedTool, ToolChoice, OwnTool } from '../../../core/index.ts';
import {
  translateSearchOptions,
  removeForbiddenTools,
  removeRepeatedTools,
  replaceHosted,
} from '../../shared/wire-kit/hosted-tools.ts';
import {
  convertToFunction,
  loseChoice,
  loseNamespaces,
  selectOfferedNames,
  takesTools,
} from '../../shared/wire-kit/offered-tools.ts';
import { overlay, type Fields } from '../../shared/wire-kit/vendor-bag.ts';
import { bag, protocolName } from './bag.ts';
import { noCacheMarks } from './encode-parts.ts';
import { type Encoding, readFlags } from './encoding.ts';
import { fitParameters } from './fit-schema.ts';
import { fitName } from './tool-names.ts';

export function encodeTools(request: CanonicalRequest, encoding: Encoding): Fields {
  const { lose, model } = encoding;
  if (!takesTools(request, model, lose)) return {};
  loseNamespaces(request.tools ?? [], protocolName, lose);
  const tools = groupTools(request, encoding);
  if (request.parallelToolCalls === false && tools.length > 0)
    lose('parallelToolCalls', 'generate-content cannot forbid parallel calls');
  // Google refuses a choice without functions.
  const choosable = request.tools?.some(({ type }) => type !== 'hosted');
  const isMixed = isMixture(tools) && readFlags(model.capabilities).mixedTools;
  // For a mixture Google's default is "VALIDATED", and its guide rules out "AUTO".
  const isDefault = isMixed && request.toolChoice?.mode === 'auto';
  const calling = choosable && !isDefault ? encodeChoice(request, encoding) : undefined;
  if (!choosable) loseChoice(request, lose);
  const config = {
    ...(calling && { functionCallingConfig: calling }),
    ...(isMixed && { includeServerSideToolInvocations: true }),
  };
  return {
    tools: tools.length > 0 ? tools : undefined,
    toolConfig: Object.keys(config).length > 0 ? config : undefined,
  };
}

/** Whether there are functions and tools of Google's own. */
function isMixture(groups: readonly Fields[]): boolean {
  const functions = groups.filter((group) => 'functionDeclarations' in group);
  return functions.length > 0 && functions.length < groups.length;
}

function groupTools(request: CanonicalRequest, encoding: Encoding): Fields[] {
  const functions: Fields[] = [];
  const hosted: Fields[] = [];
  const tools = removeForbiddenTools(request);
  const hasFunctions = tools.some(({ tool }) => tool.type !== 'hosted');
  for (const { tool, path } of removeRepeatedTools(tools, encoding)) {
    if (tool.type !== 'hosted') {
      functions.push(encodeFunction(tool, path, encoding));
      continue;
    }
    const entry = encodeHosted(tool, path, hasFunctions, encoding);
    if (entry) hosted.push(entry);
  }
  return [...(functions.length > 0 ? [{ functionDeclarations: functions }] : []), ...hosted];
}

function encodeHosted(
  tool: HostedTool,
  path: string,
  hasFunctions: boolean,
  encoding: Encoding,
): Fields | undefined {
  const { protocol, value } = tool;
  if (protocol === protocolName) return value;
  const { lose } = encoding;
  return replaceHosted(tool, path, encoding, {
    encodeSearch() {
      if (!hasFunctions || readFlags(encoding.model.capabilities).mixedTools)
        return { googleSearch: translateSearchOptions(tool, path, {}, lose) };
      lose(path, 'the model does not support search together with functions', 'model');
      return undefined;
    },
    code: { codeExecution: {} },
  });
}

function encodeFunction(tool: OwnTool, path: string, { inPlace, lose }: Encoding): Fields {
  if (tool.cache) lose(`${path}.cache`, noCacheMarks);
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

function encodeChoice(request: CanonicalRequest, { inPlace, lose }: Encoding): Fields | undefined {
  const { toolChoice } = request;
  if (!toolChoice) return undefined;
  const { names } = toolChoice;
  const mode = fitMode(toolChoice);
  if (names === undefined) return { mode };
  const offered = selectOfferedNames(request, lose);
  const sent = inPlace ? offered : offered.map(fitName);
  return sent.length > 0 ? { mode, allowedFunctionNames: sent } : undefined;
}
