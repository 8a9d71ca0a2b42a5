/**
 * What the fake vendors say to an agent: they do what the last request of the user asks for, with the tools
 * that the agent offers, whatever the wire.
 */
import { isObject, type Json } from '../support/json.ts';
import type { Scenario } from '../support/vendor/index.ts';

/** The tasks that the user's words name, each followed by a number of its own. */
export const tasks = ['PONG', 'BOTH', 'LOOK', 'RECALL', 'COMPACT', 'SOCKET'] as const;
export type Task = (typeof tasks)[number];

/** What comes before compaction has a word of its own. */
const words = [...tasks, 'FILL'] as const;
type Word = (typeof words)[number];

interface OfferedTool {
  readonly name: string;
  readonly schema: Json;
}

const schemaFields = ['input_schema', 'parameters', 'parametersJsonSchema'] as const;

/** The tools of a request on any wire, those in namespaces too. */
function listTools(value: unknown): OfferedTool[] {
  if (Array.isArray(value)) return value.flatMap(listTools);
  if (!isObject(value)) return [];
  const field = schemaFields.find((name) => isObject(value[name]));
  const schema = field && value[field];
  if (typeof value.name === 'string' && isObject(schema)) return [{ name: value.name, schema }];
  return Object.values(value).flatMap(listTools);
}

const shells =
  /^(developer__)?(bash|shell|exec_command|shell_command|run_shell_command|execute_command|run_commands?)$/i;
const readers = /^(read|view|read_files?|view_image|read_media_file)$/i;

/** A value that fits a property of a tool's schema: what is wanted for texts, little for all else. */
function fillProperty(schema: unknown, text: string): unknown {
  if (!isObject(schema)) return text;
  const types = [schema.type].flat().map((type) => String(type).toLowerCase());
  const [first] = Array.isArray(schema.enum) ? schema.enum : [];
  if (first !== undefined) return first;
  if (types.includes('array')) return [fillProperty(schema.items, text)];
  if (types.includes('boolean')) return false;
  if (types.includes('integer') || types.includes('number')) return 10;
  return types.includes('object') ? fillSchema(schema, text) : text;
}

function fillSchema(schema: Json, text: string): Json {
  const properties = isObject(schema.properties) ? schema.properties : {};
  const required = Array.isArray(schema.required) ? schema.required.map(String) : Object.keys(properties);
  return Object.fromEntries(required.map((name) => [name, fillProperty(properties[name], text)]));
}

function callTool({ name, schema }: OfferedTool, text: string): { name: string; arguments: string } {
  return { name, arguments: JSON.stringify(fillSchema(schema, text)) };
}

/** The beginnings of pictures in base64: PNG, JPEG, WebP. */
const picture = /iVBORw0KGgo|\/9j\/[A-Za-z0-9+/]{40}|UklGR/;

export function showsPicture(text: string): boolean {
  return picture.test(text);
}

/** What the user asked for last. */
function findTask(text: string): { readonly task: Word; readonly number: string } | undefined {
  const asked = [...text.matchAll(/TASK-([A-Z]+)-(\d+)/g)].at(-1);
  const task = words.find((name) => name === asked?.[1]);
  return task && { task, number: asked?.[2] ?? '' };
}

/** The contents of the files that the two tools read. */
export function buildSecrets(number: string): readonly [string, string] {
  return [`harbour-${number}-north`, `harbour-${number}-south`];
}

export function buildAnswer(task: Word, number: string): string {
  return `answer-${task.toLowerCase()}-${number}`;
}

const reading = 'I read both files.';

function readBoth(text: string, tools: readonly OfferedTool[], task: Task, number: string): Scenario {
  if (buildSecrets(number).every((secret) => text.includes(secret)))
    return { text: buildAnswer(task, number) };
  const shell = tools.find(({ name }) => shells.test(name));
  if (!shell || text.includes(reading)) return { text: 'I cannot read them.' };
  return {
    text: reading,
    toolCalls: ['north', 'south'].map((name) => callTool(shell, `cat ${name}.txt; sleep 1`)),
  };
}

const looking = 'I open the picture.';

function look(tools: readonly OfferedTool[], text: string, number: string): Scenario {
  if (showsPicture(text)) return { text: buildAnswer('LOOK', number) };
  const reader = text.includes(looking) ? undefined : tools.find(({ name }) => readers.test(name));
  const [, path] = /PICTURE=(\S+?\.png)/.exec(text) ?? [];
  return reader && path !== undefined
    ? { text: looking, toolCalls: [callTool(reader, path)] }
    : { text: 'I see no picture.' };
}

/** What a long answer begins with. */
export function buildFiller(number: string): string {
  return `log-${number}-0 `;
}

export function buildSummary(number: string): string {
  return `summary-of-${number}`;
}

const fillerLines = 1500;

/** A request that shows the long answer asks for a summary: a compacted conversation does not hold it. */
function fillOrSummarise(task: 'FILL' | 'COMPACT', text: string, number: string): Scenario {
  if (text.includes(buildFiller(number)))
    return { text: `The user asked for TASK-FILL-${number}: ${buildSummary(number)}.` };
  if (task === 'COMPACT') return { text: buildAnswer(task, number) };
  // opencode asks to go on after a compaction.
  if (text.includes(buildSummary(number))) return { text: 'The log is written.' };
  const lines = Array.from(
    { length: fillerLines },
    (_, line) => `log-${number}-${line} a boat left the quay\n`,
  );
  return { text: lines.join('') };
}

/** A request for a title or a summary offers no tool, and gets a few words. */
export function act(request: unknown): Scenario {
  const text = JSON.stringify(request);
  const tools = isObject(request) ? listTools(request.tools) : [];
  const asked = findTask(text);
  if (!asked) return { text: 'Boats' };
  const { task, number } = asked;
  if (task === 'BOTH' || task === 'SOCKET') return readBoth(text, tools, task, number);
  if (task === 'LOOK') return look(tools, text, number);
  if (task === 'FILL' || task === 'COMPACT') return fillOrSummarise(task, text, number);
  return { text: buildAnswer(task, number) };
}
