/**
 * A multipart/form-data body: texts and files in order; names may repeat. A protocol builds one from an
 * upload, and an encoder returns one if a provider takes files. Nothing in between writes to disk.
 */
import { randomUUID } from 'node:crypto';

export interface FormFile {
  readonly name: string;
  readonly filename: string;
  readonly mediaType: string;
  readonly bytes: Uint8Array;
}

/** A class and not an interface, so that no JSON from a client can pass for a form. */
export class Form {
  readonly fields: readonly (readonly [name: string, value: string])[];
  readonly files: readonly FormFile[];

  constructor(fields: Form['fields'], files: Form['files']) {
    this.fields = fields;
    this.files = files;
  }
}

/** Escapes the characters that would end a quoted name, as browsers do. */
function quoteName(name: string): string {
  return `"${name.replaceAll('"', '%22').replaceAll('\r', '%0D').replaceAll('\n', '%0A')}"`;
}

/** Encodes a form as multipart bytes, with the content type that names their boundary. */
export function encodeForm({ fields, files }: Form): {
  readonly body: Uint8Array;
  readonly contentType: string;
} {
  const boundary = `tollgate-${randomUUID()}`;
  const texts = fields.map(
    ([name, value]) =>
      `--${boundary}\r\ncontent-disposition: form-data; name=${quoteName(name)}\r\n\r\n${value}\r\n`,
  );
  const parts = files.flatMap(({ name, filename, mediaType, bytes }) => {
    const disposition = `form-data; name=${quoteName(name)}; filename=${quoteName(filename)}`;
    const head = `--${boundary}\r\ncontent-disposition: ${disposition}\r\ncontent-type: ${mediaType}\r\n\r\n`;
    return [Buffer.from(head), bytes, Buffer.from('\r\n')];
  });
  return {
    body: Buffer.concat([Buffer.from(texts.join('')), ...parts, Buffer.from(`--${boundary}--\r\n`)]),
    contentType: `multipart/form-data; boundary=${boundary}`,
  };
}
