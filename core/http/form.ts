/**
 * A body of multipart/form-data: texts and files under names that may repeat, in order. The door makes one of what
 * a client uploads, and an encoder answers one where a vendor takes files; nothing between them touches a disk.
 */
import { randomUUID } from 'node:crypto';

export interface FormFile {
  readonly name: string;
  readonly filename: string;
  readonly mediaType: string;
  readonly bytes: Uint8Array;
}

/** A class and not an interface, so that no JSON of a client's can pass for one. */
export class Form {
  readonly fields: readonly (readonly [name: string, value: string])[];
  readonly files: readonly FormFile[];

  constructor(fields: Form['fields'], files: Form['files']) {
    this.fields = fields;
    this.files = files;
  }
}

/** What would end a quoted name early, as browsers write it. */
function quoted(name: string): string {
  return `"${name.replaceAll('"', '%22').replaceAll('\r', '%0D').replaceAll('\n', '%0A')}"`;
}

/** A form as the bytes a vendor is sent, and the type that tells where its parts end. */
export function writeForm({ fields, files }: Form): {
  readonly body: Uint8Array;
  readonly contentType: string;
} {
  const boundary = `tollgate-${randomUUID()}`;
  const texts = fields.map(
    ([name, value]) =>
      `--${boundary}\r\ncontent-disposition: form-data; name=${quoted(name)}\r\n\r\n${value}\r\n`,
  );
  const parts = files.flatMap(({ name, filename, mediaType, bytes }) => {
    const head = `--${boundary}\r\ncontent-disposition: form-data; name=${quoted(name)}; filename=${quoted(filename)}\r\ncontent-type: ${mediaType}\r\n\r\n`;
    return [Buffer.from(head), bytes, Buffer.from('\r\n')];
  });
  return {
    body: Buffer.concat([Buffer.from(texts.join('')), ...parts, Buffer.from(`--${boundary}--\r\n`)]),
    contentType: `multipart/form-data; boundary=${boundary}`,
  };
}
