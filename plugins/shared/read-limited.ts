/** Reads what comes from elsewhere, a file or a reply, as long as it stays within a limit. */
export async function readLimited(chunks: AsyncIterable<Uint8Array>, most: number): Promise<Buffer> {
  const read: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of chunks) {
    size += chunk.length;
    if (size > most) throw new Error(`it has more than ${most} bytes`);
    read.push(chunk);
  }
  return Buffer.concat(read);
}
