/** The credentials a client may show, as OpenAPI names them. */
import type { Credential, Host } from '../../../core/index.ts';
import type { Json } from './schemas.ts';

export function mergeSchemes({ credentials }: Host): Json {
  return Object.assign({}, ...[...credentials.list()].map(({ openapi }) => openapi));
}

function isTakenBy({ families }: Credential, family: string): boolean {
  return families === undefined || families.includes(family);
}

/** Any one of these credentials is enough at an address of this family. */
export function listCredentials({ credentials }: Host, family: string): Json[] {
  const taken = [...credentials.list()].filter((credential) => isTakenBy(credential, family));
  return taken.flatMap(({ openapi }) => Object.keys(openapi).map((name) => ({ [name]: [] })));
}
