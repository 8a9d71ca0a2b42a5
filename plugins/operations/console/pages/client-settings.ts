/** Code for clients: settings of those that people use, and a request of the playground in curl and SDKs. */
import type { Facts } from './api.ts';
import { renderChoice } from './form.ts';
import { html, useSignal } from './kit.ts';
import { renderCode } from './parts.ts';
import type { Built } from './playground-requests.ts';

export interface Source extends Built {
  readonly protocol: string;
  readonly model: string;
  readonly stream: boolean;
  /** URL of the gateway. */
  readonly url: string;
  /** The path of the protocol's SDK, and its package. */
  readonly base: string;
  readonly sdk?: string | undefined;
}

export const languages = ['curl', 'Python', 'JavaScript'];

function quoteShell(textToQuote: string): string {
  return `'${textToQuote.replaceAll("'", `'\\''`)}'`;
}

function formatCurl({ url, path, headers, body, stream }: Source): string {
  const lines = [
    `curl${stream ? ' --no-buffer' : ''} ${quoteShell(url + path)}`,
    '-H "Authorization: Bearer $TOLLGATE_KEY"',
    "-H 'Content-Type: application/json'",
    ...Object.entries(headers).map(([name, value]) => `-H ${quoteShell(`${name}: ${value}`)}`),
    `-d ${quoteShell(JSON.stringify(body, null, 2))}`,
  ];
  return lines.join(' \\\n  ');
}

const pythonNames: Readonly<Record<string, string>> = { true: 'True', false: 'False', null: 'None' };

/** JSON with Python's names of literals, below an argument. */
function formatPythonValue(value: unknown): string {
  return (
    JSON.stringify(value ?? null, null, 4)
      // A line that ends in a text ends in a quote.
      .replaceAll(/(?:true|false|null)(?=,?$)/gm, (name) => pythonNames[name] ?? name)
      .replaceAll('\n', '\n    ')
  );
}

/** Keyword arguments: names that Python allows, and the others in `**{…}`. */
function formatPythonArguments(body: object): string {
  const lines = Object.entries(body).map(([name, value]) => {
    const text = formatPythonValue(value);
    return /^[a-z_]\w*$/i.test(name)
      ? `    ${name}=${text},\n`
      : `    **{${JSON.stringify(name)}: ${text}},\n`;
  });
  return lines.join('');
}

/**
 * The method of an SDK and what it takes. Google's take all but the contents as one `config`; OpenAI's are
 * named as their paths. Without a method the request is written as one of HTTP.
 */
function buildOrder({ protocol, body, model, stream, path, sdk }: Source) {
  const methods: Readonly<Record<string, string>> = {
    'chat-completions': 'chat.completions.create',
    responses: 'responses.create',
    images: 'images.generate',
    messages: 'messages.create',
    'generate-content': stream ? 'models.generateContentStream' : 'models.generateContent',
  };
  const { contents, generationConfig, ...rest } = body;
  const config = { ...rest, ...(typeof generationConfig === 'object' ? generationConfig : {}) };
  const order = protocol === 'generate-content' ? { model, contents, config } : body;
  const named = sdk === 'openai' ? `${path.split('/').at(-1)}.create` : undefined;
  return { method: methods[protocol] ?? named, order };
}

function formatPythonHttp({ url, path, body }: Source): string {
  return (
    'import os\nimport requests\n\nreply = requests.post(\n' +
    `    ${JSON.stringify(url + path)},\n` +
    '    headers={"Authorization": f"Bearer {os.environ[\'TOLLGATE_KEY\']}"},\n' +
    `    json=${formatPythonValue(body)},\n)\nprint(reply.json())\n`
  );
}

function formatPython(source: Source): string {
  const { protocol, url, base, stream } = source;
  const { method, order } = buildOrder(source);
  if (method === undefined) return formatPythonHttp(source);
  const address = JSON.stringify(url + base);
  const snake = method.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
  const request = `client.${snake}(\n${formatPythonArguments(order)})`;
  const key = 'os.environ["TOLLGATE_KEY"]';
  const heads: Readonly<Record<string, string>> = {
    'generate-content':
      `from google import genai\nimport os\n\nclient = genai.Client(\n    api_key=${key},\n` +
      `    http_options={"base_url": ${address}},\n)\n`,
    messages:
      'from anthropic import Anthropic\nimport os\n\n' +
      `client = Anthropic(base_url=${address}, auth_token=${key})\n`,
  };
  const client = `OpenAI(base_url=${address}, api_key=${key})`;
  const usual = `from openai import OpenAI\nimport os\n\nclient = ${client}\n`;
  const head = heads[protocol] ?? usual;
  if (!stream) return `${head}print(${request})\n`;
  return protocol === 'generate-content'
    ? `${head}for chunk in ${request}:\n    print(chunk.text, end="")\n`
    : `${head}for event in ${request}:\n    print(event)\n`;
}

function formatFetch({ url, path, body }: Source): string {
  return (
    `const reply = await fetch(${JSON.stringify(url + path)}, {\n  method: 'POST',\n  headers: {\n` +
    '    authorization: `Bearer ${process.env.TOLLGATE_KEY}`,\n' +
    "    'content-type': 'application/json',\n  },\n" +
    `  body: JSON.stringify(${JSON.stringify(body, null, 2).replaceAll('\n', '\n  ')}),\n});\n` +
    'console.log(await reply.json());\n'
  );
}

function formatJavaScript(source: Source): string {
  const { protocol, url, base, stream } = source;
  const { method, order } = buildOrder(source);
  if (method === undefined) return formatFetch(source);
  const address = JSON.stringify(url + base);
  const request = `await client.${method}(${JSON.stringify(order, null, 2)})`;
  const key = 'process.env.TOLLGATE_KEY';
  const heads: Readonly<Record<string, string>> = {
    'generate-content':
      "import { GoogleGenAI } from '@google/genai';\n\nconst client = new GoogleGenAI({\n" +
      `  apiKey: ${key},\n  httpOptions: { baseUrl: ${address} },\n});\n`,
    messages:
      "import Anthropic from '@anthropic-ai/sdk';\n\n" +
      `const client = new Anthropic({ baseURL: ${address}, authToken: ${key} });\n`,
  };
  const usual =
    "import OpenAI from 'openai';\n\n" +
    `const client = new OpenAI({ baseURL: ${address}, apiKey: ${key} });\n`;
  const head = heads[protocol] ?? usual;
  return stream
    ? `${head}for await (const event of ${request}) console.log(event);\n`
    : `${head}console.log(${request});\n`;
}

export function formatCode(language: string, source: Source): string {
  if (language === 'Python') return formatPython(source);
  return language === 'JavaScript' ? formatJavaScript(source) : formatCurl(source);
}

/** Owners whose models a client expects, by its protocol. */
const usual: Readonly<Record<string, string>> = {
  messages: 'anthropic/',
  'generate-content': 'google/',
};

/** A model for the settings of a client: the first of the usual owner, or else the first. */
function selectModel(protocol: string, models: readonly string[]): string {
  const owner = usual[protocol] ?? 'openai/';
  return models.find((id) => id.startsWith(owner)) ?? models[0] ?? 'demo/echo';
}

/** The address of the public listener, as far as a page of the admin listener can know it. */
export function getPublicUrl({ url, port }: Facts): string {
  return url ?? `${window.location.protocol}//${window.location.hostname}:${port}`;
}

interface Setting {
  readonly name: string;
  /** The protocol it speaks. */
  readonly protocol: string;
  readonly note: string;
  write(base: string, key: string, model: string): string;
}

const settings: readonly Setting[] = [
  {
    name: 'curl',
    protocol: 'chat-completions',
    note: 'A first call from a shell.',
    write: (base, key, model) =>
      `curl ${base}/chat/completions \\\n  -H "Authorization: Bearer ${key}" \\\n` +
      '  -H "Content-Type: application/json" \\\n' +
      `  -d '${JSON.stringify({ model, messages: [{ role: 'user', content: 'Hello!' }] })}'`,
  },
  {
    name: 'Claude Code',
    protocol: 'messages',
    note: 'Environment variables; then start `claude`.',
    write: (base, key, model) =>
      [
        `ANTHROPIC_BASE_URL=${base}`,
        `ANTHROPIC_AUTH_TOKEN=${key}`,
        `ANTHROPIC_MODEL=${model}`,
        ...['HAIKU', 'SONNET', 'OPUS', 'FABLE'].map((tier) => `ANTHROPIC_DEFAULT_${tier}_MODEL=${model}`),
      ]
        .map((variable) => `export ${variable}`)
        .join('\n'),
  },
  {
    name: 'Codex',
    protocol: 'responses',
    note: 'In ~/.codex/config.toml; the key is read from the environment.',
    write: (base, key, model) =>
      `model = "${model}"\nmodel_provider = "tollgate"\n\n[model_providers.tollgate]\nname = "Tollgate"\n` +
      `base_url = "${base}"\nwire_api = "responses"\nenv_key = "TOLLGATE_KEY"\n\n# In the shell:\n` +
      `# export TOLLGATE_KEY=${key}`,
  },
  {
    name: 'Gemini CLI',
    protocol: 'generate-content',
    note: 'Environment variables; then start `gemini`.',
    write: (base, key, model) =>
      `export GOOGLE_GEMINI_BASE_URL=${base}\nexport GEMINI_API_KEY=${key}\nexport GEMINI_MODEL=${model}`,
  },
  {
    name: 'opencode',
    protocol: 'chat-completions',
    note: 'In opencode.json of the project.',
    write: (base, key, model) =>
      JSON.stringify(
        {
          $schema: 'https://opencode.ai/config.json',
          model: `tollgate/${model}`,
          provider: {
            tollgate: {
              npm: '@ai-sdk/openai-compatible',
              name: 'Tollgate',
              options: { baseURL: base, apiKey: key },
              models: { [model]: {} },
            },
          },
        },
        null,
        2,
      ),
  },
  {
    name: 'Open WebUI',
    protocol: 'chat-completions',
    note: 'Environment variables of its container, or the same under Connections.',
    write: (base, key) => `OPENAI_API_BASE_URL=${base}\nOPENAI_API_KEY=${key}`,
  },
  {
    name: 'OpenAI SDK',
    protocol: 'chat-completions',
    note: 'Python; the packages for other languages take the same two values.',
    write: (base, key, model) =>
      `from openai import OpenAI\n\nclient = OpenAI(base_url="${base}", api_key="${key}")\n` +
      `reply = client.chat.completions.create(\n    model="${model}",\n` +
      '    messages=[{"role": "user", "content": "Hello!"}],\n)\nprint(reply.choices[0].message.content)',
  },
  {
    name: 'Anthropic SDK',
    protocol: 'messages',
    note: 'Python.',
    write: (base, key, model) =>
      `from anthropic import Anthropic\n\nclient = Anthropic(base_url="${base}", auth_token="${key}")\n` +
      `reply = client.messages.create(\n    model="${model}",\n    max_tokens=200,\n` +
      '    messages=[{"role": "user", "content": "Hello!"}],\n)\nprint(reply.content[0].text)',
  },
  {
    name: 'Google SDK',
    protocol: 'generate-content',
    note: 'Python, package google-genai.',
    write: (base, key, model) =>
      `from google import genai\n\nclient = genai.Client(api_key="${key}", http_options={"base_url": ` +
      `"${base}"})\nreply = client.models.generate_content(model="${model}", contents="Hello!")\n` +
      'print(reply.text)',
  },
];

/** Settings of the clients whose protocol the gateway speaks. */
export function ClientSettings(props: {
  readonly facts: Facts;
  readonly base: string;
  readonly apiKey: string;
  /** Ids of models that the key may call. */
  readonly models: readonly string[];
}) {
  const { facts, base, apiKey, models } = props;
  const paths = new Map(facts.addresses.map(({ protocol, path }) => [protocol, path]));
  const offered = settings.filter(({ protocol }) => paths.has(protocol));
  const chosen = useSignal(offered[0]?.name ?? '');
  const setting = offered.find(({ name }) => name === chosen.value);
  if (!setting)
    return html`<p class="dim">There are no client settings for the protocols of this gateway.</p>`;
  const { protocol, note, write } = setting;
  const names = offered.map(({ name }) => name);
  return html`<div class="settings">
    ${renderChoice('Client', names, chosen)}
    <p class="dim">${note}</p>
    ${renderCode(write(base + (paths.get(protocol) ?? ''), apiKey, selectModel(protocol, models)))}
  </div>`;
}
