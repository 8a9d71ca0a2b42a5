/**
 * Reads a stream whose text is consecutive numbers to its end, and throws if one is missing; calls `look`
 * after every so many of them. An event may have several, since the gateway joins texts that arrive together.
 */
export async function readNumbers(
  response: Response,
  piece: RegExp,
  every = Infinity,
  look = async (): Promise<void> => undefined,
): Promise<number> {
  const decoder = new TextDecoder();
  let [rest, read, looks] = ['', 0, 0];
  for await (const bytes of response.body ?? []) {
    const text = rest + decoder.decode(bytes, { stream: true });
    const end = text.lastIndexOf('\n') + 1;
    rest = text.slice(end);
    for (const [, numbers = ''] of text.slice(0, end).matchAll(piece)) {
      for (const number of numbers.split(' ')) {
        if (Number(number) !== read + 1) throw new Error(`${number} came after ${read}`);
        read += 1;
      }
    }
    if (read < (looks + 1) * every) continue;
    looks += 1;
    await look();
  }
  return read;
}
