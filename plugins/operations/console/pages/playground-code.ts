/** A request of the playground as code: curl, and the SDKs of its protocol. */
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
