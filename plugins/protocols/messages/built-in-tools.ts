/**
 * Tools that Anthropic defines by a dated type and the client runs: a shell, a file editor, a memory.
 * Anthropic's models know their arguments. Any other model receives the tool as a function with this
 * description and schema.
 */

interface BuiltIn {
  readonly description: string;
  readonly properties: Readonly<Record<string, object>>;
  readonly required: readonly string[];
}

const buildTextSchema = (description: string): object => ({ type: 'string', description });

const bash: BuiltIn = {
  description: 'Runs a command in a shell that stays open between calls, and returns its output.',
  properties: {
    command: buildTextSchema('The command to run.'),
    restart: { type: 'boolean', description: 'True to restart the shell instead of running a command.' },
  },
  required: [],
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

function buildEditor(
  description: string,
  commands: readonly string[],
  properties: BuiltIn['properties'],
  required: readonly string[],
): BuiltIn {
  return {
    description,
    properties: { command: { type: 'string', enum: commands }, ...properties },
    required: ['command', ...required],
  };
}

const editorDescription = 'Views files and folders, and edits files.';
const { insert_text: _insertText, ...formerly } = editing;

/** The tools by their types; the first match applies. */
const known: readonly (readonly [type: RegExp, tool: BuiltIn])[] = [
  [/^bash_\d{8}$/, bash],
  // Before 2025-04 the editor had an undo, and its "insert" used "new_str".
  [
    /^text_editor_(2024\d{4}|202501\d\d)$/,
    buildEditor(
      editorDescription,
      ['view', 'create', 'str_replace', 'insert', 'undo_edit'],
      { ...formerly, new_str: buildTextSchema('For "str_replace" and "insert": the new text.') },
      ['path'],
    ),
  ],
  [
    /^text_editor_\d{8}$/,
    buildEditor(editorDescription, ['view', 'create', 'str_replace', 'insert'], editing, ['path']),
  ],
  [
    /^memory_\d{8}$/,
    buildEditor(
      'Notes from earlier conversations, in files below /memories: read them before you begin, and write ' +
        'down what will be useful later.',
      ['view', 'create', 'str_replace', 'insert', 'delete', 'rename'],
      {
        ...editing,
        old_path: buildTextSchema('For "rename": the current path.'),
        new_path: buildTextSchema('For "rename": the new path.'),
      },
      [],
    ),
  ],
];

/** Returns the description and the schema of a tool by its type, or undefined if the type is unknown. */
export function findBuiltIn(
  type: string,
): { readonly description: string; readonly schema: object } | undefined {
  const found = known.find(([pattern]) => pattern.test(type))?.[1];
  if (!found) return undefined;
  const { description, properties, required } = found;
  return {
    description,
    schema: { type: 'object', properties, ...(required.length > 0 ? { required } : {}) },
  };
}
