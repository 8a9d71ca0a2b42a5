/** Models and bodies for the tests of this protocol. */
import { fileURLToPath } from 'node:url';
import { type ClientCall, type Model, type Operation } from '../../core/index.ts';
import { createProtocol } from '../../plugins/protocols/images/index.ts';
import { Form } from '../../plugins/shared/forms.ts';
import { readCatalogue } from '../../plugins/shared/provider/catalogue-file.ts';

export const protocol = createProtocol({ quality: 'required' });

const known = ['openai', 'google'].flatMap((vendor) =>
  readCatalogue(new URL(`../../plugins/providers/catalogue/${vendor}.json`, import.meta.url)),
);

/** A catalogue model. */
export function requireModel(id: string): Model {
  const model = known.find((each) => each.id === id);
  if (!model) throw new Error(`${fileURLToPath(import.meta.url)}: there is no ${id}`);
  return model;
}

export function readJson(
  body: Readonly<Record<string, unknown>>,
  operation: Operation = 'generate',
): ClientCall {
  const text = JSON.stringify({ model: 'openai/gpt-image-1.5', prompt: 'A heron', quality: 'low', ...body });
  return protocol.client.read(JSON.parse(text), text, { operation }, {});
}

type Files = readonly (readonly [name: string, bytes: Uint8Array])[];

/** Values of repeated names form a list. */
export function readForm(
  given: Readonly<Record<string, string>> | readonly [string, string][],
  files: Files,
): ClientCall {
  const usual = { model: 'openai/gpt-image-1.5', prompt: 'Make it night', quality: 'low' };
  const all: [string, string][] = Array.isArray(given)
    ? [...Object.entries(usual), ...given]
    : Object.entries({ ...usual, ...given });
  const form = new Form(
    all,
    files.map(([name, bytes]) => ({ name, bytes, filename: 'a', mediaType: 'application/octet-stream' })),
  );
  return protocol.client.read(form, JSON.stringify(form.fields), { operation: 'edit' }, {});
}
