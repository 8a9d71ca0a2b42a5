/** The fields of a protocol's form in the playground: their kinds come from the example of its body. */
import type { CallForm } from '../../../shared/replies/call-form.ts';
import { renderInput } from './form.ts';
import { html, signal, type Signal } from './kit.ts';
import { parseJson } from './marked-json.ts';

type Kind = 'text' | 'number' | 'lines' | 'json';

function findKind(example: unknown): Kind {
  if (typeof example === 'string') return 'text';
  if (typeof example === 'number') return 'number';
  const isLines = Array.isArray(example) && example.every((item) => typeof item === 'string');
  return isLines ? 'lines' : 'json';
}

const formatters: Readonly<Record<Kind, (example: unknown) => string>> = {
  text: String,
  number: String,
  lines: (example) => (Array.isArray(example) ? example.join('\n') : ''),
  json: (example) => JSON.stringify(example, null, 2),
};

/** What is written in a field; undefined if nothing is. Throws for what is not JSON. */
function readField(name: string, kind: Kind, written: string): unknown {
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

const hints = { text: '', number: '', lines: ' (one a line)', json: ' (JSON)' } as const;
const rows: Readonly<Record<Kind, number>> = { text: 3, number: 1, lines: 5, json: 5 };

/** The model has a field of its own. */
const listExamples = ({ example }: CallForm) => Object.entries(example).filter(([name]) => name !== 'model');

/** What people have written into the fields of all forms. */
export type Written = Map<string, Signal<string>>;

function findSignal(written: Written, key: string, usual: () => string): Signal<string> {
  const found = written.get(key) ?? signal(usual());
  written.set(key, found);
  return found;
}

const listFields = (form: CallForm, written: Written) =>
  listExamples(form).map(([name, example]) => {
    const kind = findKind(example);
    const text = findSignal(written, `${form.protocol} ${name}`, () => formatters[kind](example));
    return { name, kind, text };
  });

export function renderFields(form: CallForm, written: Written) {
  return listFields(form, written).map(
    ({ name, kind, text }) =>
      html`<div key=${`${form.protocol} ${name}`}>
        ${renderInput(nameField(name) + hints[kind], text, {
          isLive: true,
          ...(kind === 'number' ? { type: 'number' } : { rows: rows[kind] }),
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
