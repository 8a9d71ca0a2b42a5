/** Requests of the playground: what a person chose, in the words of each protocol. */
import type { CallForm } from '../../../shared/replies/call-form.ts';
import type { Facts } from './api.ts';

export interface Turn {
  readonly role: 'user' | 'assistant';
  readonly text: string;
  /** Data URLs of pictures. */
  readonly images: readonly string[];
}

export interface Tool {
  readonly name: string;
  readonly description?: string;
  readonly parameters?: unknown;
}

export interface Wanted {
  readonly protocol: string;
  readonly model: string;
  readonly stream: boolean;
  readonly system: string;
  readonly turns: readonly Turn[];
  readonly tools: readonly Tool[];
  readonly maxTokens: number | undefined;
  readonly temperature: number | undefined;
  /** Fields in the words of the protocol, which replace others. */
  readonly further: Readonly<Record<string, unknown>>;
  /** The form of a protocol that has no words here, and its fields as written. */
  readonly form?: CallForm | undefined;
  readonly fields?: Readonly<Record<string, unknown>>;
}

export interface Built {
  /** Below the gateway's address. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Readonly<Record<string, unknown>>;
}

type Fields = Record<string, unknown>;

/** An object without the fields that are undefined or empty lists. */
function omitEmpty(all: Fields): Fields {
  const isSaid = (value: unknown): boolean =>
    value !== undefined && !(Array.isArray(value) && value.length === 0);
  return Object.fromEntries(Object.entries(all).filter(([, value]) => isSaid(value)));
}

/** `data:image/png;base64,…` → its media type and its data. */
function readDataUrl(url: string): { type: string; data: string } {
  const [, type = 'image/png', data = ''] = /^data:([^;,]+);base64,(.*)$/s.exec(url) ?? [];
  return { type, data };
}

const emptySchema = { type: 'object', properties: {} };

function buildChat({ model, stream, system, turns, tools, maxTokens, temperature }: Wanted): Fields {
  const messages = turns.map(({ role, text, images }) => ({
    role,
    content:
      images.length === 0
        ? text
        : [{ type: 'text', text }, ...images.map((url) => ({ type: 'image_url', image_url: { url } }))],
  }));
  return omitEmpty({
    model,
    messages: system === '' ? messages : [{ role: 'system', content: system }, ...messages],
    tools: tools.map(({ parameters = emptySchema, ...tool }) => ({
      type: 'function',
      function: { ...tool, parameters },
    })),
    max_completion_tokens: maxTokens,
    temperature,
    stream: stream || undefined,
    stream_options: stream ? { include_usage: true } : undefined,
  });
}

function buildResponses({ model, stream, system, turns, tools, maxTokens, temperature }: Wanted): Fields {
  return omitEmpty({
    model,
    instructions: system || undefined,
    input: turns.map(({ role, text, images }) => ({
      role,
      content: [
        { type: role === 'user' ? 'input_text' : 'output_text', text },
        ...images.map((url) => ({ type: 'input_image', image_url: url })),
      ],
    })),
    tools: tools.map(({ parameters = emptySchema, ...tool }) => ({
      type: 'function',
      strict: false,
      ...tool,
      parameters,
    })),
    max_output_tokens: maxTokens,
    temperature,
    stream: stream || undefined,
  });
}

const usualLimit = 1024;

function buildMessages({
  model,
  stream,
  system,
  turns,
  tools,
  maxTokens = usualLimit,
  temperature,
}: Wanted): Fields {
  return omitEmpty({
    model,
    max_tokens: maxTokens,
    system: system || undefined,
    messages: turns.map(({ role, text, images }) => ({
      role,
      content: [
        ...images.map(readDataUrl).map(({ type, data }) => ({
          type: 'image',
          source: { type: 'base64', media_type: type, data },
        })),
        { type: 'text', text },
      ],
    })),
    tools: tools.map(({ parameters = emptySchema, ...tool }) => ({ ...tool, input_schema: parameters })),
    temperature,
    stream: stream || undefined,
  });
}

function buildGenerateContent({ system, turns, tools, maxTokens, temperature }: Wanted): Fields {
  const generationConfig = omitEmpty({ maxOutputTokens: maxTokens, temperature });
  return omitEmpty({
    systemInstruction: system === '' ? undefined : { parts: [{ text: system }] },
    contents: turns.map(({ role, text, images }) => ({
      role: role === 'user' ? 'user' : 'model',
      parts: [
        { text },
        ...images.map(readDataUrl).map(({ type, data }) => ({ inlineData: { mimeType: type, data } })),
      ],
    })),
    tools:
      tools.length === 0
        ? undefined
        : [
            {
              functionDeclarations: tools.map(({ parameters, ...tool }) =>
                omitEmpty({ ...tool, parametersJsonSchema: parameters }),
              ),
            },
          ],
    generationConfig: Object.keys(generationConfig).length === 0 ? undefined : generationConfig,
  });
}

function buildImages({ model, stream, turns }: Wanted): Fields {
  return omitEmpty({
    model,
    prompt: turns.at(-1)?.text ?? '',
    n: 1,
    size: '1024x1024',
    quality: 'low',
    stream: stream || undefined,
  });
}

function buildFormBody({ model, stream, form, fields }: Wanted): Fields {
  const named = form?.path.includes('{model}') ? undefined : model;
  return omitEmpty({ model: named, ...fields, stream: (form?.streams && stream) || undefined });
}

const bodies: Readonly<Record<string, (wanted: Wanted) => Fields>> = {
  'chat-completions': buildChat,
  responses: buildResponses,
  messages: buildMessages,
  'generate-content': buildGenerateContent,
  images: buildImages,
};

/** Protocols with words here. */
const playable = Object.keys(bodies);

/** The protocols that can be tried: those with words here, and those with a form. */
export function listPlayable({ addresses, forms }: Facts): string[] {
  const spoken = new Set(addresses.map(({ protocol }) => protocol));
  return [
    ...playable.filter((name) => spoken.has(name)),
    ...forms.map(({ protocol }) => protocol).filter((name) => !playable.includes(name)),
  ];
}

export function findForm({ forms }: Facts, protocol: string): CallForm | undefined {
  return playable.includes(protocol) ? undefined : forms.find((form) => form.protocol === protocol);
}

/** What the models of a protocol's calls make. */
export function findOutput(facts: Facts, protocol: string): string {
  return protocol === 'images' ? 'image' : (findForm(facts, protocol)?.makes ?? 'text');
}

/** Whether a model is for such calls. Models of text also make pictures, sound and films. */
export function isFor(output: string, makes: readonly string[] | undefined, { forms }: Facts): boolean {
  if (!makes || makes.includes(output)) return true;
  return (output === 'text' || output === 'image') && !forms.some((form) => makes.includes(form.makes));
}

/** `base` is the path of the protocol's SDK below the gateway. */
export function buildPath({ protocol, model, stream, form }: Wanted, base: string): string {
  const segments = model.split('/').map(encodeURIComponent).join('/');
  if (form) return form.path.replace('{model}', () => segments);
  if (protocol === 'responses') return `${base}/responses`;
  if (protocol === 'messages') return `${base}/v1/messages`;
  if (protocol === 'images') return `${base}/images/generations`;
  if (protocol !== 'generate-content') return `${base}/chat/completions`;
  return `${base}/v1beta/models/${segments}:${stream ? 'streamGenerateContent?alt=sse' : 'generateContent'}`;
}

export function buildRequest(wanted: Wanted, base: string): Built {
  const { protocol, further } = wanted;
  const body = { ...(bodies[protocol] ?? buildFormBody)(wanted), ...further };
  const headers: Record<string, string> =
    protocol === 'messages' ? { 'anthropic-version': '2023-06-01' } : {};
  return { path: buildPath(wanted, base), headers, body };
}
