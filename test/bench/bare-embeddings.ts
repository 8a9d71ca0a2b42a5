/**
 * The parts of a call for embeddings and nothing between them: it reads and parses the body, asks the vendor,
 * reads, parses and checks what comes, and writes the reply, by plain functions, one after the other. It
 * knows no key, keeps no books and has no limits. A model of Cohere's is translated, in bodies of 96 texts.
 * For any other the bytes go on, and only usage is read.
 *
 * node bare-embeddings.ts <port> <vendor>
 */
import { Agent, createServer, request, type IncomingMessage, type ServerResponse } from 'node:http';
import { z } from 'zod';

const [port, vendor] = process.argv.slice(2);
if (!port || !vendor) throw new Error('usage: node bare-embeddings.ts <port> <vendor>');

const agent = new Agent({ keepAlive: true });
/** Texts that Cohere takes at once. */
const share = 96;
const json = { 'content-type': 'application/json' };

const asked = z.object({
  model: z.string(),
  input: z.array(z.string()),
  encoding_format: z.enum(['float', 'base64']),
});
const cohereReply = z.object({
  embeddings: z.object({ base64: z.array(z.string()) }),
  meta: z.object({ billed_units: z.object({ input_tokens: z.int() }) }),
});
const openaiReply = z.object({ usage: z.object({ prompt_tokens: z.int() }) });

function readBytes(message: IncomingMessage): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    message
      .on('data', (chunk: Buffer) => chunks.push(chunk))
      .on('end', () => resolve(Buffer.concat(chunks)))
      .on('error', reject);
  });
}

function post(path: string, body: string | Buffer): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const headers = { ...json, 'content-length': Buffer.byteLength(body) };
    request(`${vendor}${path}`, { method: 'POST', agent, headers }, (reply) => resolve(readBytes(reply)))
      .on('error', reject)
      .end(body);
  });
}

/** Throws unless it is base64 of 32-bit floats, all of them finite. */
function readVector(text: string): Float32Array {
  const length = Buffer.byteLength(text, 'base64');
  const numbers = new Float32Array(length / 4);
  if (length === 0 || Buffer.from(numbers.buffer).write(text, 'base64') !== length)
    throw new Error('no base64 of numbers');
  // Several times as quick as `for … of`.
  for (let at = 0; at < numbers.length; at += 1)
    if (!Number.isFinite(numbers[at])) throw new Error('no number');
  return numbers;
}

async function translate({ model, input, encoding_format: encoding }: z.output<typeof asked>) {
  const data: { object: string; index: number; embedding: string | number[] }[] = [];
  let [tokens, length] = [0, 0];
  for (let at = 0; at < input.length; at += share) {
    const texts = input.slice(at, at + share);
    const body = {
      model,
      texts,
      input_type: 'search_document',
      embedding_types: ['base64'],
      truncate: 'NONE',
    };
    const reply = cohereReply.parse(JSON.parse(String(await post('/v2/embed', JSON.stringify(body)))));
    if (reply.embeddings.base64.length !== texts.length) throw new Error('not a vector for each text');
    for (const text of reply.embeddings.base64) {
      const numbers = readVector(text);
      length ||= numbers.length;
      if (numbers.length !== length) throw new Error('vectors of two lengths');
      const embedding = encoding === 'base64' ? text : [...numbers];
      data.push({ object: 'embedding', index: data.length, embedding });
    }
    tokens += reply.meta.billed_units.input_tokens;
  }
  const usage = { prompt_tokens: tokens, total_tokens: tokens };
  return JSON.stringify({ object: 'list', data, model, usage });
}

async function answer(message: IncomingMessage, response: ServerResponse): Promise<void> {
  if (message.method === 'GET') return void response.end('ok');
  const bytes = await readBytes(message);
  const call = asked.parse(JSON.parse(String(bytes)));
  if (call.model.startsWith('cohere/')) {
    // Node takes twice as long to send a long string.
    response.writeHead(200, json).end(Buffer.from(await translate(call)));
    return;
  }
  const reply = await post('/v1/embeddings', bytes);
  openaiReply.parse(JSON.parse(String(reply)));
  response.writeHead(200, { ...json, 'content-length': reply.length }).end(reply);
}

createServer((message, response) => void answer(message, response)).listen(Number(port), '127.0.0.1');
