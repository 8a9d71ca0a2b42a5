/** The credentials a client may show, as OpenAPI names them, by the plugins that read them. */
import type { Host } from '../../../core/index.ts';
import type { Json } from './schemas.ts';

interface Scheme {
  readonly name: string;
  readonly scheme: Json;
  /** The only protocol that takes it; all do where there is none. */
  readonly family?: string;
}

const schemes: Readonly<Record<string, readonly Scheme[]>> = {
  bearer: [{ name: 'bearer', scheme: { type: 'http', scheme: 'bearer' } }],
  'api-key-header': [{ name: 'x-api-key', family: 'messages', scheme: { type: 'apiKey', in: 'header', name: 'x-api-key' } }],
  'google-api-key': [
    { name: 'x-goog-api-key', family: 'generate-content', scheme: { type: 'apiKey', in: 'header', name: 'x-goog-api-key' } },
    { name: 'x-partner-api-key', family: 'generate-content', scheme: { type: 'apiKey', in: 'header', name: 'x-partner-api-key' } },
    { name: 'key', family: 'generate-content', scheme: { type: 'apiKey', in: 'query', name: 'key' } },
  ],
};

function active({ plugins }: Host): Scheme[] {
  return Object.entries(schemes).flatMap(([plugin, read]) => (plugins.has(plugin) ? read : []));
}

export function schemesOf(host: Host): Json {
  return Object.fromEntries(active(host).map(({ name, scheme }) => [name, scheme]));
}

/** Any one of these will do at an address of this family. */
export function credentialsFor(host: Host, family: string): Json[] {
  return active(host).flatMap((scheme) => (scheme.family === undefined || scheme.family === family ? [{ [scheme.name]: [] }] : []));
}
