/**
 * Turns a configuration of LiteLLM into one of this gateway, and names what has no counterpart line by line.
 * Keys stay in variables: none is written.
 */
import { z } from 'zod';
import { Deployments, toVariable, type UsedProvider } from './litellm/deployments.ts';
import { number, Source, text as textSchema } from './litellm/source.ts';
import words from './litellm/words.json' with { type: 'json' };

function quote(text: string): string {
  const json = JSON.stringify(text);
  return /['\\]/.test(json) ? json : `'${json.slice(1, -1)}'`;
}

/** A value as JavaScript, without braces if it has no members. A symbol is code by its description. */
function write(value: unknown): string {
  if (typeof value === 'symbol') return value.description ?? '';
  if (typeof value === 'string') return quote(value);
  if (Array.isArray(value)) return `[ ${value.map(write).join(', ')} ]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const members = Object.entries(value).map(
    ([name, member]) => `${/^[a-z]\w*$/i.test(name) ? name : quote(name)}: ${write(member)}`,
  );
  return members.length > 0 ? `{ ${members.join(', ')} }` : '';
}

function toCamelCase(name: string): string {
  return name.replaceAll(/-(\w)/g, (_, letter: string) => letter.toUpperCase());
}

/** A provider's line in the list of plugins. It is off while none of its keys is set. */
function writeProvider([name, { keys, options, models }]: [string, UsedProvider]): string {
  const code = [...keys].map((key) => `process.env.${key}`);
  const isOn = code.length > 1 ? `(${code.join(' || ')}) && ` : code.map((key) => `${key} && `).join('');
  const apiKey = code.length > 1 ? `[${code.join(', ')}].flatMap((key) => key || [])` : code[0];
  const key = apiKey === undefined ? {} : { apiKey: Symbol.for(apiKey) };
  const given = { ...key, ...options, ...(Object.keys(models).length > 0 && { models }) };
  return `    ${isOn}${toCamelCase(name)}(${write(given)}),\n`;
}

/** A server that speaks chat completions, as a provider of the configuration's own. */
function defineServer(name: string): string {
  const prefix = toVariable(name);
  return `const ${toCamelCase(name)} = defineProvider({
  name: '${name}',
  env: { key: '${prefix}_API_KEY', baseUrl: '${prefix}_BASE_URL' },
  endpoints: { 'chat-completions': '/chat/completions', embeddings: '/embeddings' },
  models: { discover: '/models' },
});\n\n`;
}

/** Changes one place of the text. Throws if the project's own configuration no longer has it. */
function replace(text: string, place: string, by: string): string {
  const pattern = new RegExp(place, 'gm');
  if (text.search(pattern) < 0) throw new Error(`the delivered configuration lacks ${place}`);
  return text.replaceAll(pattern, () => by);
}

function writeProviders(template: string, providers: ReadonlyMap<string, UsedProvider>): string {
  const own = [...providers.keys()].filter((name) => name.startsWith('at-'));
  const imports = [...providers.keys()].map((name) =>
    own.includes(name) ? '' : `import { ${toCamelCase(name)} } from 'tollgate/plugins/providers/${name}';\n`,
  );
  if (own.length > 0) imports.unshift("import { defineProvider } from 'tollgate/kit';\n");
  const lines = [...providers].map(writeProvider).join('');
  let text = replace(template, String.raw`^ {4}openai\([^]*^ {4}demo\(\),\n`, lines);
  text = replace(text, "^(?:import .* from 'tollgate/plugins/providers/.*\n)+", imports.join(''));
  return replace(text, '^(?=export default)', own.map(defineServer).join(''));
}

/** Makes the changes of the table whose setting is there, with its value in place of `$`. */
function writeSettings(template: string, source: Source): string {
  let text = template;
  const done = new Set<string>();
  for (const [setting = '', wanted = '', place = '', by = ''] of words.edits) {
    const fits = z.union([textSchema, z.boolean().transform(String)]).pipe(z.literal(wanted));
    const schema = wanted === '' ? number.transform(String) : fits;
    const value = done.has(place) ? undefined : source.read(setting.split('.'), schema);
    if (value === undefined || place === '') continue;
    done.add(place);
    text = replace(text, place, by.replace('$', value));
  }
  // The configuration has this one anyway.
  for (const list of ['callbacks', 'success_callback', 'failure_callback', 'service_callback'])
    for (const path of source.list(['litellm_settings', list])) source.read(path, z.literal('prometheus'));
  return text;
}

/** `template` is the project's own configuration. */
export function convert(written: string, template: string) {
  const source = new Source(written);
  const deployments = new Deployments(source);
  const { limits, providers } = deployments;
  const names = deployments.readNames();
  const calls = source.read(['general_settings', 'global_max_parallel_requests'], number);
  const limited = { ...(limits.length > 0 && { limits }), ...(calls && { shares: { calls } }) };
  let text = writeSettings(writeProviders(template, providers), source);
  text = replace(text, String.raw`^ {4}rateLimits\(\)`, `    rateLimits(${write(limited)})`);
  if (names.length > 0) {
    const lines = names.map(([name, models]) => `      ${write({ [name]: models }).slice(2, -2)},\n`);
    const use = "import { aliases } from 'tollgate/plugins/routing/aliases';\n";
    text = replace(text, "^(?=import .*'tollgate/plugins/routing/balanced')", use);
    text = replace(text, String.raw`^(?= {4}bareNames\(\))`, `    aliases({\n${lines.join('')}    }),\n`);
  }
  const variables = [...providers.values()].flatMap(({ keys }) => [...keys]);
  return { text, remarks: source.listRemarks(words.remarks), variables };
}
