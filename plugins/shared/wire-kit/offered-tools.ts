/**
 * Offers a client's tools on a wire that does not take them as they are: under another name, as functions, or
 * without their namespace. Everything follows from the request alone, so that replies can be translated back
 * without state.
 */
import { createHash } from 'node:crypto';
import type { CanonicalRequest, ClientCall, GatewayError, Model, Tool } from '../../../core/index.ts';
import { parseJson } from './event-data.ts';
import type { Lose } from './losses.ts';
import { isEmptyArguments } from './tool-arguments.ts';
import { isObject, type Fields } from './vendor-bag.ts';
import { buildFieldError } from './wire-check.ts';

const digestLength = 16;

export function hashText(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, digestLength);
}

/** The names that a wire accepts: a pattern for a whole name, one for refused characters, the length. */
interface NameRule {
  readonly good: RegExp;
  readonly strange: RegExp;
  readonly longest: number;
}

/** The name itself if the wire accepts it, or a similar one with a digest, which no other name becomes. */
export function fitNameByRule(name: string, { good, strange, longest }: NameRule): string {
  return good.test(name)
    ? name
    : `${name.replaceAll(strange, '_').slice(0, longest - digestLength - 1)}_${hashText(name)}`;
}

interface ClientTool {
  readonly name: string;
  readonly custom: boolean;
}

/** The tools offered under another name or as functions, by the name sent to the provider. */
function mapRenamedTools(
  tools: readonly Tool[],
  fitName: (name: string) => string,
): ReadonlyMap<string, ClientTool> {
  const asked = tools.flatMap((tool): [string, ClientTool][] => {
    if (tool.type === 'hosted') return [];
    const name = fitName(tool.name);
    const custom = tool.type === 'custom';
    return custom || name !== tool.name ? [[name, { name: tool.name, custom }]] : [];
  });
  return new Map(asked);
}

export type FindTool = (name: string) => ClientTool | undefined;

/** Finds the client's tools of a translated call: the provider knows some by another name or form. */
export function createToolFinder(
  call: ClientCall,
  isOwn: boolean,
  fitName: (name: string) => string,
): FindTool {
  let renamed: ReadonlyMap<string, ClientTool> | undefined;
  return (name) =>
    isOwn ? undefined : (renamed ??= mapRenamedTools(call.decode().tools ?? [], fitName)).get(name);
}

type CustomTool = Extract<Tool, { type: 'custom' }>;

function describeGrammar(format: unknown): string {
  const grammar = isObject(format) && isObject(format.grammar) ? format.grammar : format;
  if (!isObject(grammar) || grammar.definition === undefined) return '';
  return `The input follows this grammar (${String(grammar.syntax)}):\n${String(grammar.definition)}`;
}

/**
 * A custom tool, which takes free text, as a function with that text as its only argument. Its grammar
 * becomes part of the description; nothing enforces it there, so it is reported as an approximation.
 */
export function convertToFunction(
  { description = '', format }: CustomTool,
  path: string,
  lose: Lose,
): { description: string; schema: Fields } {
  const grammar = describeGrammar(format);
  if (grammar !== '') lose(`${path}.format`, 'its grammar is sent in its description', 'approximated');
  return {
    description: [description, grammar].filter(Boolean).join('\n\n'),
    schema: {
      type: 'object',
      properties: { input: { type: 'string' } },
      required: ['input'],
      additionalProperties: false,
    },
  };
}

export function wrapInput(input: string): string {
  return JSON.stringify({ input });
}

/** The text inside the arguments, or the arguments themselves if the model ignored the schema. */
export function unwrapInput(text: string): string {
  if (isEmptyArguments(text)) return '';
  const parsed = parseJson(text);
  return isObject(parsed) && typeof parsed.input === 'string' ? parsed.input : text;
}

/** The chosen names that are offered to the model: providers refuse any other. Reports the rest. */
export function selectOfferedNames(
  { toolChoice, tools = [] }: CanonicalRequest,
  lose: Lose,
): readonly string[] {
  const names = toolChoice?.names ?? [];
  const offered = names.filter((name) => tools.some((tool) => tool.type !== 'hosted' && tool.name === name));
  if (offered.length < names.length) lose('toolChoice', 'it names a tool that the model is not offered');
  return offered;
}

/** The error for a choice that a client makes among no tools. */
export function buildChoiceError(choice: string): GatewayError {
  const send = '"tools" with it, or leave it out';
  return buildFieldError('tool_choice', `is "${choice}" without any tools`, send);
}

/** Whether the choice demands that a tool is called. */
export function needsCall({ toolChoice }: CanonicalRequest): boolean {
  if (!toolChoice) return false;
  const { mode, required = mode !== 'auto' && mode !== 'none' } = toolChoice;
  return required;
}

/** Why a choice that demands a call is lost where the model refuses it. */
export const askedInWords =
  'the model cannot be made to call a tool; it is offered the chosen ones, and asked in an instruction';

/** The instruction that replaces a choice which demands a call of one of these tools, given by name. */
export function askForCall(tools: readonly unknown[]): string {
  const listed = tools.flatMap((name) => (typeof name === 'string' ? [JSON.stringify(name)] : []));
  const called = listed.length === 1 ? 'the tool' : 'one of the tools';
  return `Do not answer in words: call ${called} ${listed.join(', ')}.`;
}

/** Reports the choice of a request that is left without tools, if a tool had to be called. */
export function loseChoice(request: CanonicalRequest, lose: Lose): void {
  if (needsCall(request)) lose('toolChoice', 'the model is not offered what it is to choose from');
}

/** Whether the model takes tools. Reports those of the request if it does not. */
export function takesTools({ tools }: CanonicalRequest, { capabilities }: Model, lose: Lose): boolean {
  if (!capabilities.tools && tools?.length) lose('tools', 'the model takes no tools', 'model');
  return capabilities.tools;
}

function readNamespace(tool: Tool | undefined): string | undefined {
  return tool === undefined || tool.type === 'hosted' ? undefined : tool.namespace;
}

/** Reports each namespace once for all of its tools: only the responses protocol has namespaces. */
export function loseNamespaces(tools: readonly Tool[], protocol: string, lose: Lose): void {
  for (const [index, tool] of tools.entries()) {
    const namespace = readNamespace(tool);
    if (namespace !== undefined && namespace !== readNamespace(tools[index - 1])) {
      lose(`tools[${index}].namespace.name`, `${protocol} has no namespaces for tools`);
    }
  }
}
