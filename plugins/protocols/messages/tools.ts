/**
 * Tools and the tool choice in both directions, and the tools that Anthropic defines by a dated type and the
 * client runs: a shell, a file editor, a memory. Anthropic's models know their arguments. Any other model
 * receives such a tool as a function with the description and schema that are here.
 */
import type { CanonicalRequest, Tool, HostedTool } from '../../../core/index.ts';
import {
  replaceHosted,
  translateSearchOptions,
  type PlacedTool,
  type SearchWriters,
} from '../../shared/wire-kit/hosted-tools.ts';
import { refusePart, type Lose } from '../../shared/wire-kit/losses.ts';
import { toObjectSchema } from '../../shared/wire-kit/object-schema.ts';
import {
  askedInWords,
  askForCall,
  convertToFunction,
  loseChoice,
} from '../../shared/wire-kit/offered-tools.ts';
import {
  isObject,
  overlay,
  trackReads,
  type Fields,
  type Tracked,
} from '../../shared/wire-kit/vendor-bag.ts';
import { bag, decodeSides, protocolName, readFlags, type Encoding, fitName } from './encoding.ts';
import { tightenSchema } from './thinking.ts';
import * as Wire from './wire.ts';

interface BuiltIn {
  readonly description: string;
  readonly schema: object;
}

const buildTextSchema = (description: string): object => ({ type: 'string', description });

const bash: BuiltIn = {
  description: 'Runs a command in a shell that stays open between calls, and returns its output.',
  schema: {
    type: 'object',
    properties: {
      command: buildTextSchema('The command to run.'),
      restart: { type: 'boolean', description: 'True to restart the shell instead of running a command.' },
    },
  },
};

const editing = {
  path: buildTextSchema('The file or folder, as an absolute path.'),
  view_range: {
    type: 'array',
    items: { type: 'integer' },
    description: 'For "view": the first and the last line to show, from 1; -1 is the end.',
  },
  file_text: buildTextSchema('For "create": the content of the file.'),
  old_str: buildTextSchema(
    'For "str_replace": the text to replace, which must occur in the file exactly once.',
  ),
  new_str: buildTextSchema('For "str_replace": the replacement.'),
  insert_line: {
    type: 'integer',
    description: 'For "insert": the line after which to insert; 0 is the beginning.',
  },
  insert_text: buildTextSchema('For "insert": the text to insert.'),
};

function buildEditor(commands: readonly string[], properties: object, required: readonly string[]): object {
  return {
    type: 'object',
    properties: { command: { type: 'string', enum: commands }, ...properties },
    required: ['command', ...required],
  };
}

const editorCommands = ['view', 'create', 'str_replace', 'insert'];
const editorDescription = 'Views files and folders, and edits files.';
const { insert_text: _insertText, ...formerly } = editing;

/** The tools by their types; the first match applies. */
const known: readonly (readonly [type: RegExp, tool: BuiltIn])[] = [
  [/^bash_\d{8}$/, bash],
  // Before 2025-04 the editor had an undo, and its "insert" used "new_str".
  [
    /^text_editor_(2024\d{4}|202501\d\d)$/,
    {
      description: editorDescription,
      schema: buildEditor(
        [...editorCommands, 'undo_edit'],
        { ...formerly, new_str: buildTextSchema('For "str_replace" and "insert": the new text.') },
        ['path'],
      ),
    },
  ],
  [
    /^text_editor_\d{8}$/,
    { description: editorDescription, schema: buildEditor(editorCommands, editing, ['path']) },
  ],
  [
    /^memory_\d{8}$/,
    {
      description:
        'Notes from earlier conversations, in files below /memories: read them before you begin, and write ' +
        'down what will be useful later.',
      schema: buildEditor(
        [...editorCommands, 'delete', 'rename'],
        {
          ...editing,
          old_path: buildTextSchema('For "rename": the current path.'),
          new_path: buildTextSchema('For "rename": the new path.'),
        },
        [],
      ),
    },
  ],
];

export function isSearch({ type }: { readonly type?: unknown }): boolean {
  return String(type).startsWith('web_search_');
}

function readHostedKind(tool: Wire.Tool): HostedTool['kind'] {
  if (isSearch(tool)) return 'web-search';
  return tool.type?.startsWith('code_execution_') ? 'code-execution' : 'other';
}

function decodeTool(wire: Wire.Tool, at: string): Tool {
  const { seen, pickRest } = trackReads(wire);
  const { type, name } = seen;
  if (Wire.isFunctionTool(seen)) {
    const { description, input_schema: schema, strict } = seen;
    const about = { description: description ?? undefined, schema, strict: strict ?? undefined };
    return { type: 'function', name: seen.name, ...about, ...decodeSides(pickRest()), at };
  }
  const [, defined] = known.find(([pattern]) => pattern.test(type ?? '')) ?? [];
  if (name && defined)
    return { type: 'function', name, ...defined, ...decodeSides({ type, ...pickRest() }), at };
  return { type: 'hosted', protocol: protocolName, kind: readHostedKind(wire), value: wire, at };
}

const modes = { auto: 'auto', any: 'required', tool: 'one', none: 'none' } as const;

/** A choice of a type that only the vendor may know is not read. */
export function decodeTools(
  body: Tracked<Wire.Request>,
): Pick<CanonicalRequest, 'tools' | 'toolChoice' | 'parallelToolCalls'> {
  const { tools: offered, tool_choice: choice } = body.seen;
  const tools = offered?.map((tool, index) => decodeTool(tool, `tools[${index}]`));
  if (!choice || !Wire.isKnownChoice(choice)) {
    body.keep('tool_choice');
    return { tools };
  }
  const { seen, pickRest } = trackReads(choice);
  const names = seen.type === 'tool' ? [seen.name] : undefined;
  const isSerial = seen.type === 'none' ? undefined : seen.disable_parallel_tool_use;
  return {
    tools,
    toolChoice: { mode: modes[seen.type], names, ...bag.keep(pickRest()) },
    parallelToolCalls: typeof isSerial === 'boolean' ? !isSerial : undefined,
  };
}

type FunctionTool = Extract<Tool, { type: 'function' }>;

interface EncodedTools {
  readonly tools?: readonly Fields[] | undefined;
  readonly choice?: Fields | undefined;
  /** The instruction that replaces a choice which the model refuses. */
  readonly instruction?: string;
}

export function encodeTools(
  request: CanonicalRequest,
  offered: readonly PlacedTool[] | undefined,
  encoding: Encoding,
): EncodedTools {
  if (!offered) return {};
  const { toolChoice } = request;
  const allowed = toolChoice?.mode === 'subset' ? new Set(toolChoice.names) : undefined;
  const tools = offered.flatMap(({ tool, path }) =>
    isAllowed(tool, allowed) ? encodeTool(tool, path, encoding) : [],
  );
  const choice = encodeChoice(request);
  const chosen = choice?.type === 'tool' ? tools.filter(({ name }) => name === choice.name) : tools;
  // Anthropic refuses a choice without tools, or of a tool that was lost.
  if (chosen.length === 0) {
    loseChoice(request, encoding.lose);
    return tools.length > 0 ? { tools, choice: encodeChoice({ ...request, toolChoice: undefined }) } : {};
  }
  if (choice?.type !== 'any' && choice?.type !== 'tool') return { tools, choice };
  if (readFlags(encoding.model.capabilities).forcesTools) return { tools, choice };
  // Some models refuse a choice that demands a call. They are offered nothing but the chosen tools.
  encoding.lose('toolChoice', askedInWords, 'approximated');
  const { name: _name, ...rest } = choice;
  return {
    tools: chosen,
    choice: { ...rest, type: 'auto' },
    instruction: askForCall(chosen.map(({ name }) => name)),
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
    const { limit } = encoding.callLimit;
    const uses = limit === undefined ? {} : { max_uses: limit };
    return { type: 'web_search_20250305', name: 'web_search', ...options, ...uses };
  };
  const code = { type: 'code_execution_20250825', name: 'code_execution' };
  const replaced = replaceHosted(tool, path, encoding, { encodeSearch, code });
  return replaced ? [replaced] : [];
}

const types = { auto: 'auto', required: 'any', one: 'tool', none: 'none', subset: 'auto' } as const;

function encodeChoice({ toolChoice, parallelToolCalls: parallel }: CanonicalRequest): Fields | undefined {
  if (!toolChoice) return parallel === false ? { type: 'auto', disable_parallel_tool_use: true } : undefined;
  const { mode, names = [], required } = toolChoice;
  const type = mode === 'subset' && required ? 'any' : types[mode];
  return {
    ...bag.getFields(toolChoice),
    type,
    ...(type === 'tool' ? { name: fitName(names[0] ?? '') } : {}),
    ...(type === 'none' || parallel === undefined ? {} : { disable_parallel_tool_use: !parallel }),
  };
}
