/**
 * Finds every regular expression of the sources in their syntax tree: literals, `new RegExp`, and patterns
 * that are joined from others. A part that is only known while the gateway runs counts as one letter.
 */
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseAst } from 'vitest/node';

export interface Pattern {
  readonly file: string;
  readonly source: string;
  readonly flags: string;
}

type Expression = Pick<Pattern, 'source' | 'flags'>;
type Node = Readonly<Record<string, unknown>> & { readonly type: string };

const root = join(import.meta.dirname, '../..');
const unknownPart = 'x';

function isNode(value: unknown): value is Node {
  return typeof value === 'object' && value !== null && 'type' in value && typeof value.type === 'string';
}

const listNodes = (value: unknown): Node[] => (Array.isArray(value) ? value.filter(isNode) : []);

function* walkTree(node: Node): Generator<Node> {
  yield node;
  for (const value of Object.values(node))
    for (const child of Array.isArray(value) ? value : [value]) if (isNode(child)) yield* walkTree(child);
}

const readName = (node: unknown): string => (isNode(node) ? String(node.name ?? node.value ?? '') : '');

/** Evaluates the constants of one file. */
class Reader {
  readonly #constants = new Map<string, () => string>();

  constructor(tree: Node) {
    for (const node of walkTree(tree)) if (node.type === 'VariableDeclarator') this.#define(node);
  }

  #define({ id, init }: Node): void {
    if (!isNode(id) || !isNode(init)) return;
    if (id.type === 'Identifier') this.#constants.set(readName(id), () => this.#readText(init));
    // `const { source: name } = pattern`.
    for (const { key, value } of listNodes(id.properties))
      if (readName(key) === 'source')
        this.#constants.set(readName(value), () => this.readPattern(init)?.source ?? unknownPart);
  }

  /** The pattern that an expression makes; undefined if it makes none. */
  readPattern({ type, regex, callee, arguments: given }: Node): Expression | undefined {
    const [first, flags] = listNodes(given);
    if (type === 'Literal' && typeof regex === 'object' && regex !== null && 'pattern' in regex)
      return { source: String(regex.pattern), flags: 'flags' in regex ? String(regex.flags) : '' };
    if (type === 'NewExpression' && readName(callee) === 'RegExp' && first)
      return { source: this.#readText(first), flags: flags ? this.#readText(flags) : '' };
    if (type !== 'CallExpression' || readName(callee) !== 'joinPatterns') return undefined;
    const parts = listNodes(given).map((part) => this.readPattern(part)?.source ?? unknownPart);
    return { source: parts.join('|'), flags: 'i' };
  }

  #readText(node: Node): string {
    const { type, value, left, right, quasi } = node;
    if (type === 'Literal') return String(value);
    if (type === 'Identifier') return this.#constants.get(readName(node))?.() ?? unknownPart;
    if (type === 'BinaryExpression' && isNode(left) && isNode(right))
      return this.#readText(left) + this.#readText(right);
    if (type === 'TemplateLiteral') return this.#readTemplate(node, 'cooked');
    if (type === 'TaggedTemplateExpression' && isNode(quasi)) return this.#readTemplate(quasi, 'raw');
    return unknownPart;
  }

  #readTemplate({ quasis, expressions }: Node, form: 'cooked' | 'raw'): string {
    const parts = listNodes(expressions).map((part) => this.#readText(part));
    return listNodes(quasis)
      .map(({ value }, index) => {
        const text: unknown = typeof value === 'object' && value !== null && Reflect.get(value, form);
        return `${String(text)}${parts[index] ?? ''}`;
      })
      .join('');
  }
}

function readPatterns(file: string): Pattern[] {
  const tree: unknown = parseAst(readFileSync(join(root, file), 'utf8'), { lang: 'ts' });
  if (!isNode(tree)) throw new Error(`${file} has no syntax tree`);
  const reader = new Reader(tree);
  return [...walkTree(tree)].flatMap((node) => {
    const pattern = reader.readPattern(node);
    return pattern ? [{ file, ...pattern }] : [];
  });
}

/** Every pattern of core and plugins, each once. */
export function findPatterns(): Pattern[] {
  const found = globSync(['core/**/*.ts', 'plugins/**/*.ts'], { cwd: root }).flatMap(readPatterns);
  return [...new Map(found.map((pattern) => [`/${pattern.source}/${pattern.flags}`, pattern])).values()];
}
