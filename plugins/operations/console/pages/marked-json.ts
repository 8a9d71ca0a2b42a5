/** JSON as text, with marks at the places that a crossing loses or changes. */
import type { Loss } from '../../../shared/replies/calls.ts';
import { html, type ComponentChildren } from './kit.ts';
import { renderState } from './parts.ts';

/** Lines of a document at most, and characters of one value. */
const mostLines = 3000;
const longestText = 400;

/** `messages[0].content` → `["messages", "0", "content"]`. */
function splitPath(path: string): string[] {
  return [...path.matchAll(/\[(\d+)\]|[^.[\]]+/g)].map(([name, index]) => index ?? name);
}

function hasMember(value: unknown, name: string): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && Object.hasOwn(value, name);
}

/** The place of a path in a document, or the nearest one above it; undefined if nothing of it is there. */
function findPlace(document: unknown, path: string): string | undefined {
  const found: string[] = [];
  let value = document;
  for (const name of splitPath(path)) {
    if (!hasMember(value, name)) break;
    found.push(name);
    value = value[name];
  }
  return found.length === 0 ? undefined : found.join('\n');
}

/** Losses by the place in the document that shows them, and those that no place shows. */
export function placeLosses(
  document: unknown,
  losses: readonly Loss[],
): { readonly marks: ReadonlyMap<string, readonly Loss[]>; readonly elsewhere: readonly Loss[] } {
  const marks = new Map<string, Loss[]>();
  const elsewhere: Loss[] = [];
  for (const loss of losses) {
    const at = findPlace(document, loss.path);
    if (at === undefined) elsewhere.push(loss);
    else marks.set(at, [...(marks.get(at) ?? []), loss]);
  }
  return { marks, elsewhere };
}

/** `dropped`, `approximated` … in a word. */
export function describeLoss({ code }: Loss): string {
  return code === 'approximated' || code === 'truncated' ? code : 'dropped';
}

/** What became of a field. */
export function renderLoss(loss: Loss) {
  return renderState(describeLoss(loss));
}

export function renderLosses(losses: readonly Loss[]) {
  const renderItem = (loss: Loss) =>
    html`<li>${renderLoss(loss)} <code>${loss.path}</code> <span class="dim">${loss.reason}</span></li>`;
  return html`<ul class="losses">
    ${losses.map(renderItem)}
  </ul>`;
}

/** A JSON value; undefined if the text is not JSON. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

class Writer {
  lines = 0;
  readonly #marks: ReadonlyMap<string, readonly Loss[]>;

  constructor(marks: ReadonlyMap<string, readonly Loss[]>) {
    this.#marks = marks;
  }

  /** A value with its mark. `place` is where it is, `lead` what comes before it on its line. */
  write(value: unknown, place: readonly string[], lead: string, tail: string): ComponentChildren {
    if (this.lines > mostLines) return null;
    this.lines += 1;
    const losses = this.#marks.get(place.join('\n'));
    const notes = (losses ?? []).map(
      (loss) => html`<span class="why"> ← ${describeLoss(loss)}: ${loss.path}, ${loss.reason}</span>`,
    );
    const body = this.#writeBody(value, place, lead, [tail, notes]);
    if (!losses) return body;
    const isSoft = losses.every(({ code }) => code === 'approximated');
    return html`<span class=${isSoft ? 'mark soft' : 'mark'}>${body}</span>`;
  }

  #writeBody(
    value: unknown,
    place: readonly string[],
    lead: string,
    [tail, note]: readonly [string, ComponentChildren],
  ): ComponentChildren {
    const indent = '  '.repeat(place.length);
    if (typeof value !== 'object' || value === null || Object.keys(value).length === 0)
      return html`${indent}${lead}${formatScalar(value)}${tail}${note}${'\n'}`;
    const isList = Array.isArray(value);
    const members = Object.entries(value);
    return html`${indent}${lead}${isList ? '[' : '{'}${note}${'\n'}${members.map(([name, inner], index) =>
      this.write(
        inner,
        [...place, name],
        isList ? '' : `${JSON.stringify(name.slice(0, longestText))}: `,
        index === members.length - 1 ? '' : ',',
      ),
    )}${indent}${isList ? ']' : '}'}${tail}${'\n'}`;
  }
}

function formatScalar(value: unknown): string {
  const text = JSON.stringify(value) ?? 'null';
  return text.length > longestText ? `${text.slice(0, longestText)}… (${text.length} characters)` : text;
}

/** A document as text. What is no JSON is shown as it is. */
export function renderJson(label: string, text: string, losses: readonly Loss[] = []) {
  const document = parseJson(text);
  if (document === undefined)
    return html`<pre class="json" tabindex="0" aria-label=${label}>${text.slice(0, 100_000)}</pre>`;
  const writer = new Writer(placeLosses(document, losses).marks);
  const shown = writer.write(document, [], '', '');
  return html`<pre class="json" tabindex="0" aria-label=${label}>
${shown}${writer.lines > mostLines && '… the rest is not shown'}</pre>`;
}
