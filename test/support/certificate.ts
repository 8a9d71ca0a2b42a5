/** A self-signed certificate for a name, in DER by hand, since Node reads certificates but makes none. */
import { generateKeyPairSync, sign } from 'node:crypto';

function der(tag: number, ...parts: readonly (Buffer | string)[]): Buffer {
  const body = Buffer.concat(parts.map((part) => Buffer.from(part)));
  const size = body.length < 128 ? [body.length] : [0x82, body.length >> 8, body.length & 255];
  return Buffer.concat([Buffer.from([tag, ...size]), body]);
}

const sequence = (...parts: readonly Buffer[]): Buffer => der(0x30, ...parts);
const identifier = (hex: string): Buffer => der(0x06, Buffer.from(hex, 'hex'));
const [commonName, subjectAltName] = [identifier('550403'), identifier('551d11')];
const ecdsaWithSha256 = sequence(identifier('2a8648ce3d040302'));

/** The form of certificates' dates: 261122120000Z. */
function time(date: Date): Buffer {
  return der(
    0x17,
    `${date
      .toISOString()
      .replaceAll(/[-:T]|\.\d+/g, '')
      .slice(2)}`,
  );
}

/** Key and certificate in PEM. It is valid from last year on, for ten years. */
export function certify(name: string): { readonly key: string; readonly cert: string } {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const year = 365 * 24 * 60 * 60 * 1000;
  const subject = sequence(der(0x31, sequence(commonName, der(0x0c, name))));
  const names = sequence(subjectAltName, der(0x04, sequence(der(0x82, name))));
  const facts = sequence(
    der(0xa0, der(0x02, Buffer.from([2]))),
    der(0x02, Buffer.from([1])),
    ecdsaWithSha256,
    subject,
    sequence(time(new Date(Date.now() - year)), time(new Date(Date.now() + 10 * year))),
    subject,
    publicKey.export({ type: 'spki', format: 'der' }),
    der(0xa3, sequence(names)),
  );
  const signature = der(0x03, Buffer.from([0]), sign('sha256', facts, privateKey));
  const text = sequence(facts, ecdsaWithSha256, signature).toString('base64');
  return {
    key: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
    cert: `-----BEGIN CERTIFICATE-----\n${text.replaceAll(/.{64}/g, '$&\n')}\n-----END CERTIFICATE-----\n`,
  };
}
