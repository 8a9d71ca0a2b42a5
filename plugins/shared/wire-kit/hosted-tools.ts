/**
 * Tools that a vendor runs itself. Two kinds exist at several vendors, so that one can replace another's: a web search,
 * and a place to run code. A tool without a counterpart at the model's vendor is told as lost. Where the caller mainly
 * wanted that tool (Google's grounding, running code), an answer without it would be worthless, and the call is refused.
 */
import type { CanonicalRequest, Model, Tool } from '../../../core/index.ts';
import type { Lose } from './losses.ts';
import { refusePart } from './refuse-part.ts';
import { isObject } from './vendor-bag.ts';

/** The name of a block with the output of code that a vendor ran; it follows the code. */
export const codeResult = 'code_result';

export type HostedTool = Extract<Tool, { type: 'hosted' }>;

/** Whether the fee of a tool, which is charged apart from tokens, is known. */
export function isPriced({ free, price }: Pick<Model, 'free' | 'price'>, kind: HostedTool['kind']): boolean {
  return kind !== 'web-search' || free === true || price?.webSearch !== undefined;
}

/** Whether a model's vendor runs such a tool, at a price that is known. */
export function hosts(model: Model, kind: HostedTool['kind']): boolean {
  const { capabilities, supportedParameters } = model;
  if (!isPriced(model, kind)) return false;
  if (kind === 'web-search' && supportedParameters.includes('web_search_options')) return true;
  return capabilities.hosted.some((each) => each === kind);
}

/** What an answer may be grounded in, by Google's names. OpenAI's counterpart is its search of files that it keeps. */
const groundings = ['urlContext', 'googleMaps', 'fileSearch', 'retrieval'] as const;

/** Whether an answer without the tool would be worthless. */
export function isIndispensable({ kind, protocol, value }: HostedTool): boolean {
  if (kind === 'code-execution') return true;
  if (!isObject(value)) return false;
  if (protocol === 'generate-content')
    return kind === 'web-search' || groundings.some((name) => name in value);
  return value.type === 'file_search';
}

/** The tools, with each kind that a vendor runs once: a client of another protocol may name it in two spellings, and vendors refuse to be asked twice. */
export function withoutRepeats(
  tools: readonly (Tool | undefined)[],
  protocol: string,
  lose: Lose,
): (Tool | undefined)[] {
  const seen = new Set<string>();
  return tools.map((tool, index) => {
    if (tool?.type !== 'hosted' || tool.kind === 'other' || tool.protocol === protocol) return tool;
    if (!seen.has(tool.kind)) {
      seen.add(tool.kind);
      return tool;
    }
    lose(`tools[${index}]`, 'one of its kind is there already');
    return undefined;
  });
}

/** The tools for a wire on which a choice does not reach the tools that its vendor runs: where no tool is to be called, those are left out. */
export function withoutForbidden({ tools = [], toolChoice }: CanonicalRequest): (Tool | undefined)[] {
  return tools.map((tool) => (tool.type === 'hosted' && toolChoice?.mode === 'none' ? undefined : tool));
}

/** Tells as lost a tool that the model has no counterpart of, or none at a known price. Throws where an answer without it is worthless. */
export function loseHosted(
  tool: HostedTool,
  path: string,
  lose: Lose,
  reason = `${tool.protocol} has a tool of its own here`,
): void {
  if (isIndispensable(tool))
    refusePart(tool, path, 'This model is reached by a protocol or vendor that has no such tool.');
  lose(path, reason, 'vendor');
}

/** Throws where code should run in a container, or on files, that another vendor keeps. */
export function checkContainer(tool: HostedTool, path: string): void {
  const container = isObject(tool.value) ? tool.value.container : undefined;
  const files: unknown = isObject(container) ? container.file_ids : undefined;
  const kept = typeof container === 'string' || (Array.isArray(files) && files.length > 0);
  if (kept)
    refusePart(
      tool,
      path,
      'A container or file kept by another vendor cannot be used by the provider of this model.',
    );
}
