/** Signature Version 4 as the verifier computes it, written only from AWS's description. */
import { createHash, createHmac } from 'node:crypto';
import type { Arrived } from './front.ts';

function computeHmac(key: Buffer | string, text: string): Buffer {
  return createHmac('sha256', key).update(text).digest();
}

function computeSha256(bytes: Buffer | string): string {
  return createHash('sha256').update(bytes).digest('hex');
}

function escapeText(text: string): string {
  return encodeURIComponent(text).replaceAll(
    /[!'()*]/g,
    (mark) => `%${mark.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}

const credential = /Credential=([^/]+)\/(\d{8})\/([^/]+)\/([^/]+)\/aws4_request/.source;
const signature = /SignedHeaders=([^,]+), Signature=([0-9a-f]{64})/.source;
const authorization = new RegExp(`^AWS4-HMAC-SHA256 ${credential}, ${signature}$`);

export interface Keys {
  readonly id: string;
  readonly secret: string;
  readonly region: string;
  readonly service: string;
}

/** What is wrong with the signature of a request; undefined if it is right. `now` is when it arrives. */
export function checkSignature(
  { method, path, headers, body }: Arrived,
  keys: Keys,
  now = Date.now(),
): string | undefined {
  const [, id, day = '', region = '', service = '', signedNames = '', signature] =
    authorization.exec(headers.authorization ?? '') ?? [];
  if (id !== keys.id || region !== keys.region || service !== keys.service) return 'another credential';
  const names = signedNames.split(';');
  const time = String(headers['x-amz-date']);
  const sent = Date.parse(time.replace(/^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/, '$1-$2-$3T$4:$5:$6Z'));
  if (Math.abs(now - sent) > 300_000 || !time.startsWith(day)) return 'another time';
  const unsigned = Object.keys(headers).filter(
    (name) => (name === 'host' || name.startsWith('x-amz-')) && !names.includes(name),
  );
  if (unsigned.length > 0) return `unsigned: ${unsigned.join(', ')}`;
  const [bare = '', query = ''] = path.split('?');
  const canonical = [
    method,
    bare.split('/').map(escapeText).join('/'),
    [...new URLSearchParams(query)]
      .map(([name, value]) => `${escapeText(name)}=${escapeText(value)}`)
      .toSorted()
      .join('&'),
    ...names.map((name) => `${name}:${String(headers[name]).trim().replaceAll(/ +/g, ' ')}`),
    '',
    signedNames,
    computeSha256(body),
  ].join('\n');
  const key = [day, region, service, 'aws4_request'].reduce<Buffer | string>(
    (secret, part) => computeHmac(secret, part),
    `AWS4${keys.secret}`,
  );
  const right = computeHmac(
    key,
    ['AWS4-HMAC-SHA256', time, `${day}/${region}/${service}/aws4_request`, computeSha256(canonical)].join(
      '\n',
    ),
  ).toString('hex');
  return right === signature ? undefined : 'another signature';
}
