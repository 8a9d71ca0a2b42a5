/** The load: wrk, whose script counts what it saw and whose every error fails the run. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import type { Call } from './payload.ts';
import { run } from './processes.ts';
import { adaptCall, type Target } from './targets.ts';

const resultSchema = z.object({
  requests: z.number(),
  microseconds: z.number(),
  bytes: z.number(),
  p50: z.number(),
  p99: z.number(),
  errors: z.object({
    connect: z.number(),
    read: z.number(),
    write: z.number(),
    status: z.number(),
    timeout: z.number(),
  }),
});

export type LoadResult = z.output<typeof resultSchema>;

const report = `
function done(summary, latency, requests)
  local function put(form, ...) io.write(string.format(form, ...)) end
  local e = summary.errors
  put('\\nRESULT {"requests":%d,"microseconds":%d,', summary.requests, summary.duration)
  put('"bytes":%.0f,', summary.bytes)
  put('"p50":%d,"p99":%d,', latency:percentile(50), latency:percentile(99))
  put('"errors":{"connect":%d,"read":%d,"write":%d,', e.connect, e.read, e.write)
  put('"status":%d,"timeout":%d}}\\n', e.status, e.timeout)
end
`;

/** JSON's escapes within a string are Lua's too, as long as the text is ASCII. */
function buildScript({ accept, body, headers: own }: Call, headers: Target['headers']): string {
  const all = { 'content-type': 'application/json', accept, ...own, ...headers };
  const set = Object.entries(all).map(
    ([name, value]) => `wrk.headers[${JSON.stringify(name)}] = ${JSON.stringify(value)}`,
  );
  return [`wrk.method = "POST"`, `wrk.body = ${JSON.stringify(body)}`, ...set, report].join('\n');
}

/** A median of fewer replies says nothing: the server has stalled. */
const leastReplies = 10;

/** Makes one call. */
export function makeCall(
  { origin, headers }: Target,
  { path, accept, body, headers: own }: Call,
): Promise<Response> {
  const all = { 'content-type': 'application/json', accept, ...own, ...headers };
  return fetch(origin + path, { method: 'POST', headers: all, body });
}

/** What the target replies to one more call, since wrk counts refusals and keeps none. */
async function describeReply(target: Target, call: Call): Promise<string> {
  const response = await makeCall(target, call);
  return `one more call: ${response.status} ${(await response.text()).slice(0, 500)}`;
}

/**
 * Loads a target for some seconds from one thread. Throws on any error, any other status than a 2xx, and next
 * to no reply.
 */
export async function load(
  target: Target,
  call: Call,
  options: { connections: number; seconds: number; folder: string },
): Promise<LoadResult> {
  const file = join(options.folder, `${target.name}.lua`);
  writeFileSync(file, buildScript(adaptCall(call, target), target.headers));
  const args = [
    '-t',
    '1',
    '-c',
    String(options.connections),
    '-d',
    `${options.seconds}s`,
    '--timeout',
    '20s',
    '-s',
    file,
    target.origin + call.path,
  ];
  const printed = await run('wrk', args);
  const line = /^RESULT (.+)$/m.exec(printed)?.[1];
  if (!line) throw new Error(`wrk printed no result:\n${printed}`);
  const result = resultSchema.parse(JSON.parse(line));
  const faults = Object.entries(result.errors).filter(([, count]) => count > 0);
  if (faults.length || result.requests < leastReplies) {
    const kinds = faults.map(([kind, count]) => `${count} × ${kind}`).join(', ');
    const reply = await describeReply(target, call).catch(String);
    throw new Error(
      `${target.name} failed under load: ${kinds || `${result.requests} replies`}\n${reply}\n${printed}`,
    );
  }
  return result;
}
