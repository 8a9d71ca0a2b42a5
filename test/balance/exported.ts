/** Ledgers full of entries, and what an export of them says. */
import { z } from 'zod';

export async function joinText(lines: AsyncIterable<unknown>): Promise<string> {
  let text = '';
  for await (const part of lines) text += String(part);
  return text;
}

const line = z.looseObject({ number: z.int(), available: z.string(), account: z.string() });

export function parseLines(text: string) {
  return text
    .split('\n')
    .filter((each) => each !== '')
    .map((each) => line.parse(JSON.parse(each)));
}
