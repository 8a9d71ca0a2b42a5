/** The fields of a protocol's form in the playground: their kinds come from the example of its body. */
import type { CallForm } from '../../../shared/replies/call-form.ts';
import { renderInput } from './form.ts';
import { html, signal, type Signal } from './kit.ts';
import { parseJson } from './marked-json.ts';

function findKind(example: unknown): keyof typeof kinds {
  if (typeof example === 'string') return 'text';
  if (typeof example === 'number') return 'number';
  const isLines = Array.isArray(example) && example.every((item) => typeof item === 'string');
  return isLines ? 'lines' : 'json';
}

/** How a field of each kind is shown. */
const kinds = {
  text: { hint: '', rows: 3, format: String },
  number: { hint: '', rows: 1, format: String },
  lines: { hint: ' (one a line)', rows: 5, format: (example: unknown) => [example].flat().join('\n') },
  json: { hint: ' (JSON)', rows: 5, format: (example: unknown) => JSON.stringify(example, null, 2) },
} as const;

/** What is written in a field; undefined if nothing is. Throws for what is not JSON. */
function readField(name: string, kind: keyof typeof kinds, written: string): unknown {
  if (kind === 'text') return written || undefined;
  if (kind === 'lines') return written.split('\n').filter((line) => line.trim() !== '');
  if (written.trim() === '') return undefined;
  const value = parseJson(written);
  if (value === undefined) throw new Error(`${nameField(name)}: this is not JSON.`);
  return value;
}

/** `top_n` as people read it. */
function nameField(name: string): string {
  const words = name.replaceAll('_', ' ');
  return words.charAt(0).toUpperCase() + words.slice(1);
}

/** What people have written into the fields of all forms. */
export type Written = Map<string, Signal<string>>;

const listFields = ({ protocol, example }: CallForm, written: Written) =>
  // The model has a field of its own.
  Object.entries(example).flatMap(([name, value]) => {
    if (name === 'model') return [];
    const [key, kind] = [`${protocol} ${name}`, findKind(value)];
    const text = written.get(key) ?? signal(kinds[kind].format(value));
    written.set(key, text);
    return [{ key, name, kind, text }];
  });

export function renderFields(form: CallForm, written: Written) {
  return listFields(form, written).map(
    ({ key, name, kind, text }) =>
      html`<div key=${key}>
        ${renderInput(nameField(name) + kinds[kind].hint, text, {
          isLive: true,
          ...(kind === 'number' ? { type: 'number' } : { rows: kinds[kind].rows }),
        })}
      </div>`,
  );
}

/** The members of the body. Throws for a field that cannot be read. */
export function readFields(form: CallForm, written: Written): Record<string, unknown> {
  return Object.fromEntries(
    listFields(form, written).map(({ name, kind, text }) => [name, readField(name, kind, text.value)]),
  );
}
