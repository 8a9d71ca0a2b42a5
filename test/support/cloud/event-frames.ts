/** Frames of AWS's event streams, as a server writes them: lengths, headers, a payload, and two checksums. */
import { crc32 } from 'node:zlib';

function toBytes(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
}

/** A header of type text. */
function buildHeader(name: string, value: string): Buffer {
  const length = Buffer.alloc(2);
  length.writeUInt16BE(Buffer.byteLength(value));
  return Buffer.concat([
    Buffer.from([name.length]),
    Buffer.from(name),
    Buffer.from([7]),
    length,
    Buffer.from(value),
  ]);
}

export function buildEventFrame(headers: Readonly<Record<string, string>>, payload: string): Buffer {
  const written = Buffer.concat(Object.entries(headers).map(([name, value]) => buildHeader(name, value)));
  const body = Buffer.from(payload);
  const prelude = Buffer.concat([toBytes(16 + written.length + body.length), toBytes(written.length)]);
  const whole = Buffer.concat([prelude, toBytes(crc32(prelude)), written, body]);
  return Buffer.concat([whole, toBytes(crc32(whole))]);
}

export function buildChunkFrame(event: string): Buffer {
  const payload = JSON.stringify({ bytes: Buffer.from(event).toString('base64'), p: 'abcdefghijk' });
  return buildEventFrame(
    { ':event-type': 'chunk', ':content-type': 'application/json', ':message-type': 'event' },
    payload,
  );
}

export function buildExceptionFrame(name: string, message: string): Buffer {
  return buildEventFrame(
    { ':exception-type': name, ':content-type': 'application/json', ':message-type': 'exception' },
    JSON.stringify({ message }),
  );
}
