/**
 * Makes a picture, saves it, and edits it: `KEY=sk-… npx node examples/picture.ts "A lighthouse"
 * lighthouse.png`. It calls the demo model of a gateway on this machine, unless TOLLGATE_URL and MODEL name
 * others.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { basename } from 'node:path';

const { TOLLGATE_URL = 'http://127.0.0.1:8787', KEY = '', MODEL = 'demo/paint' } = process.env;
const [prompt = 'A lighthouse', file = 'picture.png'] = process.argv.slice(2);
const authorization = `Bearer ${KEY}`;

interface Result {
  readonly data: readonly { readonly b64_json: string }[];
}

function isResult(value: unknown): value is Result {
  return typeof value === 'object' && value !== null && 'data' in value;
}

/** The picture of a result; a refusal says why in its `error`. */
async function readPicture(response: Response): Promise<Buffer> {
  const result: unknown = await response.json();
  if (!isResult(result)) throw new Error(JSON.stringify(result));
  return Buffer.from(result.data[0]?.b64_json ?? '', 'base64');
}

const made = await fetch(`${TOLLGATE_URL}/v1/images/generations`, {
  method: 'POST',
  headers: { authorization, 'content-type': 'application/json' },
  body: JSON.stringify({ model: MODEL, prompt, quality: 'low', size: '1024x1024' }),
});
writeFileSync(file, await readPicture(made));
process.stdout.write(`saved ${file}\n`);

const form = new FormData();
for (const [name, value] of Object.entries({
  model: MODEL,
  prompt: `${prompt}, at night`,
  quality: 'low',
  size: '1024x1024',
}))
  form.append(name, value);
form.append('image', new File([readFileSync(file)], basename(file), { type: 'image/png' }));

const changed = await fetch(`${TOLLGATE_URL}/v1/images/edits`, {
  method: 'POST',
  headers: { authorization },
  body: form,
});
const copy = file.replace(/(\.png)?$/, '-at-night.png');
writeFileSync(copy, await readPicture(changed));
process.stdout.write(`saved ${copy}\n`);
