/**
 * Recorded exchanges as files: `<protocol>/<case>.request.json`, `.reply.json` or `.reply.sse`, and
 * `.meta.json`.
 */
import { existsSync, globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { wires, type Wire } from '../support/families.ts';
import { isObject, type Json } from '../support/json.ts';

const protocols = [...wires, 'images'] as const;
export type RecordedProtocol = (typeof protocols)[number];

const metaSchema = z.looseObject({
  status: z.int(),
  headers: z.record(z.string(), z.string()).default({}),
  path: z.string().optional(),
});

export interface Recording {
  /** `messages/text-stream`. */
  readonly name: string;
  readonly protocol: RecordedProtocol;
  readonly operation: 'generate' | 'count' | 'edit';
  /** Undefined where the source has no request. */
  readonly request: Json | undefined;
  readonly reply: Buffer;
  readonly streamed: boolean;
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** The vendor's name for the model. */
  readonly model: string;
}

function readJsonFile(file: string): unknown {
  return JSON.parse(readFileSync(file, 'utf8'));
}

function readOperation(name: string, path = ''): Recording['operation'] {
  if (/count_?tokens|input_tokens/i.test(path) || /\/count-tokens/.test(name)) return 'count';
  return path.includes('/edits') ? 'edit' : 'generate';
}

function readModel(request: Json | undefined, path = ''): string {
  const inPath = /\/models\/([^/:]+):/.exec(path)?.[1];
  return typeof request?.model === 'string' ? request.model : (inPath ?? 'recorded-model');
}

function readRecording(folder: string, name: string): Recording {
  const toPath = (kind: string): string => join(folder, `${name}.${kind}`);
  const protocol = protocols.find((known) => name.startsWith(`${known}/`));
  if (!protocol) throw new Error(`${name}: the folder has to be one of ${protocols.join(', ')}`);
  const { status, headers, path } = metaSchema.parse(readJsonFile(toPath('meta.json')));
  const request = existsSync(toPath('request.json')) ? readJsonFile(toPath('request.json')) : undefined;
  if (request !== undefined && !isObject(request)) throw new Error(`${name}: the request is no JSON object`);
  const streamed = existsSync(toPath('reply.sse'));
  const reply = readFileSync(toPath(streamed ? 'reply.sse' : 'reply.json'));
  const operation = readOperation(name, path);
  return {
    name,
    protocol,
    operation,
    request,
    reply,
    streamed,
    status,
    headers,
    model: readModel(request, path),
  };
}

/** All recordings of a folder, by name. Throws if there are none, or if one is not as described. */
export function readRecordings(folder: string): Recording[] {
  const names = globSync('*/*.meta.json', { cwd: folder }).map((path) =>
    path.replaceAll('\\', '/').slice(0, -'.meta.json'.length),
  );
  if (names.length === 0)
    throw new Error(`${folder} holds no recording: there is no <protocol>/<case>.meta.json`);
  return names.toSorted().map((name) => readRecording(folder, name));
}

export function isTextProtocol(protocol: RecordedProtocol): protocol is Wire {
  return protocol !== 'images';
}
