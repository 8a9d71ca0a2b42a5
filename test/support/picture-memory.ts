/**
 * Measures the memory a picture of 20 MB takes as it passes through, made and uploaded, whole and streamed:
 * the gateway runs in a process of its own, and this watches its resident set. It fails if the process holds
 * more than six times the picture's size, after collection, over its idle size.
 */
import { readFileSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { runVerb, makeDataFolder, startProcess } from './process.ts';
import { startScriptedVendor } from './scripted-vendor.ts';

const megabyte = 1024 * 1024;
const size = 20 * megabyte;
const mostTimes = 6;
const calls = 5;

const picture = Buffer.concat([Buffer.from('89504e470d0a1a0a', 'hex'), Buffer.alloc(size, 0xa7)]);
const usage = {
  input_tokens: 10,
  input_tokens_details: { text_tokens: 10, image_tokens: 0 },
  output_tokens: 1056,
  total_tokens: 1066,
};
const small = JSON.stringify({
  created: 1,
  data: [{ b64_json: picture.subarray(0, 300).toString('base64') }],
  usage,
});
const whole = { b64_json: picture.toString('base64') };
const large = JSON.stringify({ created: 1, data: [whole], usage });
const type = 'image_generation.completed';
const stream = `event: ${type}\ndata: ${JSON.stringify({ type, ...whole, usage })}\n\n`;

/** The model's name selects the vendor's answer. */
const vendor = await startScriptedVendor((response, _request, body) => {
  const wantsStream = /"stream":true|name="stream"\r\n\r\ntrue/.test(body);
  response.setHeader('content-type', wantsStream ? 'text/event-stream' : 'application/json');
  response.end(wantsStream ? stream : /large/.test(body.slice(0, 1000)) ? large : small);
});

const data = makeDataFolder();
const gateway = await startProcess({
  TOLLGATE_DATA: data,
  OPENAI_API_KEY: 'key',
  OPENAI_BASE_URL: `${vendor.origin}/v1`,
  TOLLGATE_LOG: 'warn',
});
const { output } = await runVerb(['keys', 'create', '--credit', '1000', '--json'], { TOLLGATE_DATA: data });
const key = /sk-[\w-]+/.exec(output)?.[0] ?? '';

/** The process's resident bytes. */
function readMemory(): number {
  return Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${gateway.child.pid}/status`, 'utf8'))?.[1]) * 1024;
}

async function post(path: string, body: string | FormData): Promise<void> {
  const headers = {
    authorization: `Bearer ${key}`,
    ...(typeof body === 'string' ? { 'content-type': 'application/json' } : {}),
  };
  const response = await fetch(`${gateway.url}/v1/images/${path}`, { method: 'POST', headers, body });
  const length = (await response.arrayBuffer()).byteLength;
  if (response.status !== 200 || length < 100) throw new Error(`status ${response.status}, ${length} bytes`);
}

function generate(prompt: string, streamed = false): Promise<void> {
  return post(
    'generations',
    JSON.stringify({ model: 'openai/gpt-image-1.5', prompt, quality: 'low', stream: streamed }),
  );
}

function edit(prompt: string): Promise<void> {
  const form = new FormData();
  for (const [name, value] of Object.entries({ model: 'openai/gpt-image-1.5', prompt, quality: 'low' }))
    form.append(name, value);
  form.append('image', new File([picture], 'large.png'));
  return post('edits', form);
}

const rows: readonly (readonly [name: string, call: () => Promise<void>])[] = [
  ['made', () => generate('large')],
  ['made, streamed', () => generate('large', true)],
  ['uploaded', () => edit('small')],
  ['uploaded, and another made of it', () => edit('large')],
];

for (let warm = 0; warm < 20; warm += 1) await generate('small');
await pause(2000);
let failed = false;
for (const [name, call] of rows) {
  const idle = readMemory();
  let peak = 0;
  const watch = setInterval(() => (peak = Math.max(peak, readMemory())), 5);
  for (let number = 0; number < calls; number += 1) {
    await call();
    await pause(500);
  }
  clearInterval(watch);
  let left = readMemory();
  for (let wait = 0; wait < 60 && (wait < 3 || (left - idle) / size > mostTimes); wait += 1) {
    await pause(1000);
    left = readMemory();
  }
  const formatTimes = (bytes: number): string => ((bytes - idle) / size).toFixed(1);
  failed ||= (left - idle) / size > mostTimes;
  process.stdout.write(
    `${name}: idle ${Math.round(idle / megabyte)} MB, then ${formatTimes(left)} times its size more, ` +
      `${formatTimes(peak)} at its peak\n`,
  );
}
await gateway.stop('SIGTERM');
await vendor.close();
process.exitCode = failed ? 1 : 0;
