/**
 * What Claude Code asks of an organisation's gateway beside calls: settings that the operator manages, and a
 * place for its telemetry. Telemetry is accepted and dropped, so that clients do not retry it for ever.
 */
import { hash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { z } from 'zod';
import {
  definePlugin,
  GatewayError,
  toGatewayError,
  type Route,
  type RouteReply,
  type RouteRequest,
} from '../../core/index.ts';
import { matchesTag } from '../shared/wire-kit/model-listing.ts';

const settingsSchema = z.record(z.string(), z.unknown());

/** The same settings with their names in order, in which they are summed up. */
function sortNames(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sortNames);
  if (typeof value !== 'object' || value === null) return value;
  const sorted = Object.entries(value).toSorted(([one], [other]) => (one < other ? -1 : 1));
  return Object.fromEntries(sorted.map(([name, member]) => [name, sortNames(member)]));
}

interface ManagedSettings {
  readonly tag: string;
  readonly body: object;
}

/** Throws an error that names the file if it holds no settings. */
function readSettings(file: string): ManagedSettings {
  try {
    const settings = settingsSchema.parse(JSON.parse(readFileSync(file, 'utf8')));
    const checksum = hash('sha256', JSON.stringify(sortNames(settings)));
    return { tag: `"${checksum}"`, body: { uuid: checksum, checksum, settings } };
  } catch (error) {
    throw new Error(`the settings in ${file} must be a JSON object in a file that can be read`, {
      cause: error,
    });
  }
}

function answerSettings(managed: ManagedSettings | undefined, { headers }: RouteRequest): RouteReply {
  if (!managed) throw new GatewayError('not_found', 'This gateway manages no settings.');
  const { tag, body } = managed;
  return matchesTag(headers['if-none-match'], tag)
    ? { status: 304, headers: { etag: tag }, body: '' }
    : { status: 200, headers: { etag: tag }, body };
}

/** OpenTelemetry answers in the encoding of the request. An empty message has no bytes in protobuf. */
function answerTelemetry({ headers }: RouteRequest): RouteReply {
  return /^application\/json\b/.test(String(headers['content-type']))
    ? { status: 200, body: {} }
    : { status: 200, headers: { 'content-type': 'application/x-protobuf' }, body: '' };
}

const signals = ['metrics', 'logs', 'traces'];

export const claudeCode = definePlugin({
  name: 'claude-code',
  options: z.strictObject({
    /** A JSON file with the settings that Claude Code takes from here. */
    settings: z.string().min(1).optional(),
    /** The path prefix, as in the clients' base URL. The root answers too. */
    mount: z
      .string()
      .regex(/^(\/[\w.-]+)*$/, 'a path such as /alpha, without a slash at its end')
      .default('/alpha'),
  }),
  apply(host, { settings, mount }) {
    const file = settings === undefined ? undefined : resolve(settings);
    const managed = file === undefined ? undefined : readSettings(file);
    if (file !== undefined) host.watchFile(file);
    const encodeError: Route['encodeError'] = (error, id = '') => {
      const fault = toGatewayError(error);
      const reply = host.protocols.find('messages')?.client.encodeError(fault, id);
      return reply ?? { status: fault.status, body: fault.message };
    };
    const routes = [...new Set([mount, ''])].flatMap((base): Route[] => [
      {
        name: `managed-settings at ${base}/`,
        method: 'GET',
        path: `${base}/managed/settings`,
        access: 'user',
        encodeError,
        describe: false,
        handle: async (request) => answerSettings(managed, request),
      },
      ...signals.map((signal): Route => ({
        name: `telemetry-${signal} at ${base}/`,
        method: 'POST',
        path: `${base}/v1/${signal}`,
        access: 'user',
        encodeError,
        describe: false,
        discardsBody: true,
        handle: async (request) => answerTelemetry(request),
      })),
    ]);
    for (const route of routes) host.routes.add(route);
  },
});
