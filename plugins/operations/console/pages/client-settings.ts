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
  /** The path of the protocol's SDK. */
  readonly base: string;
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

function formatPythonValue(value: unknown, indent = ''): string {
  if (value === null || value === undefined) return 'None';
  if (typeof value === 'boolean') return value ? 'True' : 'False';
  if (typeof value !== 'object') return JSON.stringify(value);
  const inner = `${indent}    `;
  if (Array.isArray(value)) {
    if (value.length === 0) return '[]';
    return `[\n${value.map((each) => `${inner}${formatPythonValue(each, inner)},\n`).join('')}${indent}]`;
  }
  const members = Object.entries(value);
  if (members.length === 0) return '{}';
  const lines = members.map(
    ([name, each]) => `${inner}${JSON.stringify(name)}: ${formatPythonValue(each, inner)},\n`,
  );
  return `{\n${lines.join('')}${indent}}`;
}

/** Keyword arguments: names that Python allows, and the others in `**{…}`. */
function formatPythonArguments(body: object): string {
  return Object.entries(body)
    .map(([name, value]) =>
      /^[a-z_]\w*$/i.test(name)
        ? `    ${name}=${formatPythonValue(value, '    ')},\n`
        : `    **{${JSON.stringify(name)}: ${formatPythonValue(value, '    ')}},\n`,
    )
    .join('');
}

const method: Readonly<Record<string, string>> = {
  'chat-completions': 'chat.completions.create',
  responses: 'responses.create',
  images: 'images.generate',
  messages: 'messages.create',
};

function formatPython({ protocol, url, base, body, model, stream }: Source): string {
  if (protocol === 'generate-content') {
    const { contents, ...config } = flattenConfig(body);
    const call = stream ? 'generate_content_stream' : 'generate_content';
    const head =
      'from google import genai\nimport os\n\nclient = genai.Client(\n' +
      '    api_key=os.environ["TOLLGATE_KEY"],\n' +
      `    http_options={"base_url": ${JSON.stringify(url + base)}},\n)\n`;
    const request = `client.models.${call}(\n${formatPythonArguments({ model, contents, config })})`;
    return stream
      ? `${head}for chunk in ${request}:\n    print(chunk.text, end="")\n`
      : `${head}print(${request})\n`;
  }
  const isMessages = protocol === 'messages';
  const [library, name, secret] = isMessages
    ? ['anthropic', 'Anthropic', 'auth_token']
    : ['openai', 'OpenAI', 'api_key'];
  const head =
    `from ${library} import ${name}\nimport os\n\n` +
    `client = ${name}(base_url=${JSON.stringify(url + base)}, ${secret}=os.environ["TOLLGATE_KEY"])\n`;
  const request = `client.${method[protocol] ?? ''}(\n${formatPythonArguments(body)})`;
  return stream ? `${head}for event in ${request}:\n    print(event)\n` : `${head}print(${request})\n`;
}

function formatJavaScript({ protocol, url, base, body, model, stream }: Source): string {
  const wrapRequest = (request: string): string =>
    stream
      ? `for await (const event of await ${request}) console.log(event);\n`
      : `console.log(await ${request});\n`;
  if (protocol === 'generate-content') {
    const { contents, ...config } = flattenConfig(body);
    const call = stream ? 'generateContentStream' : 'generateContent';
    const order = JSON.stringify({ model, contents, config }, null, 2);
    return (
      "import { GoogleGenAI } from '@google/genai';\n\nconst client = new GoogleGenAI({\n" +
      `  apiKey: process.env.TOLLGATE_KEY,\n  httpOptions: { baseUrl: ${JSON.stringify(url + base)} },\n` +
      `});\n${wrapRequest(`client.models.${call}(${order})`)}`
    );
  }
  const isMessages = protocol === 'messages';
  const [library, name, secret] = isMessages
    ? ['@anthropic-ai/sdk', 'Anthropic', 'authToken']
    : ['openai', 'OpenAI', 'apiKey'];
  const head =
    `import ${name} from '${library}';\n\n` +
    `const client = new ${name}({ baseURL: ${JSON.stringify(url + base)}, ${secret}: ` +
    'process.env.TOLLGATE_KEY });\n';
  return head + wrapRequest(`client.${method[protocol] ?? ''}(${JSON.stringify(body, null, 2)})`);
}

/** The Google SDKs take all but the contents as one `config`, with the settings of generation in it. */
function flattenConfig({ generationConfig, ...body }: Built['body']): Readonly<Record<string, unknown>> {
  return { ...body, ...(typeof generationConfig === 'object' ? generationConfig : {}) };
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
