/** Settings for the clients that people use, with a key and the gateway's address filled in. */
import { renderChoice } from './controls.ts';
import { html, useSignal } from './kit.ts';
import { renderCode } from './parts.ts';

/** What the gateway says about itself; `/console/facts` answers it on both listeners. */
export interface Facts {
  /** Where clients reach the public listener, if configured. */
  readonly url: string | null;
  readonly port: number;
  /** Base addresses of SDKs, below the gateway's own. */
  readonly addresses: readonly {
    readonly client: string;
    readonly protocol: string;
    readonly path: string;
  }[];
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
