/** Signs calls for AWS: with a signature over the finished bytes (SigV4), or with an API key. */
import { createHash, createHmac, type Hash, type Hmac } from 'node:crypto';
import type { Provider } from '../../../core/index.ts';
import { ExpiringCredential } from '../../shared/cloud/expiring-credential.ts';
import { loadOptional } from '../../shared/cloud/optional-package.ts';
import type { Credential, Identity } from './options.ts';

type Bytes = string | ArrayBuffer | ArrayBufferView;

function toView(data: Bytes): string | NodeJS.ArrayBufferView {
  if (typeof data === 'string') return data;
  return data instanceof ArrayBuffer
    ? new Uint8Array(data)
    : new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
}

/**
 * Node's own SHA-256 in the shape that the signer wants. One written in JavaScript would block the event loop
 * for long bodies.
 */
export class Sha256 {
  readonly #hash: Hash | Hmac;

  constructor(secret?: Bytes) {
    this.#hash = secret === undefined ? createHash('sha256') : createHmac('sha256', toView(secret));
  }

  update(data: Bytes): void {
    this.#hash.update(toView(data));
  }

  async digest(): Promise<Uint8Array> {
    return this.#hash.digest();
  }
}

/** The expiry of a key that states none. */
const never = Number.POSITIVE_INFINITY;

function createIdentitySource(credential: Identity | (() => Promise<Identity>)): () => Promise<Identity> {
  const expiring = new ExpiringCredential('amazon-bedrock', async () => {
    const value = typeof credential === 'function' ? await credential() : credential;
    return { value, expires: value.expiration?.getTime() ?? never };
  });
  return async () => expiring.get();
}

function createIdentitySigner(region: string, identity: () => Promise<Identity>): Provider['sign'] {
  return async (request) => {
    const { SignatureV4 } = await loadOptional(
      'amazon-bedrock',
      '@smithy/signature-v4',
      () => import('@smithy/signature-v4'),
    );
    const { accessKeyId, secretAccessKey, sessionToken } = await identity();
    const credentials = {
      accessKeyId,
      secretAccessKey,
      ...(sessionToken === undefined ? {} : { sessionToken }),
    };
    const signer = new SignatureV4({ service: 'bedrock', region, credentials, sha256: Sha256 });
    const { protocol, hostname, host, pathname } = new URL(request.url);
    const { method, body, headers } = request;
    const signed = await signer.sign({
      method,
      protocol,
      hostname,
      path: pathname,
      query: {},
      headers: { ...headers, host },
      body,
    });
    return { ...request, headers: signed.headers };
  };
}

export function createSigner(region: string, credential: Credential): Provider['sign'] {
  if (typeof credential === 'string')
    return (request) => ({
      ...request,
      headers: { ...request.headers, authorization: `Bearer ${credential}` },
    });
  return createIdentitySigner(region, createIdentitySource(credential));
}
