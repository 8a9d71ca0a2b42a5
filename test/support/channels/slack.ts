/** A Slack incoming webhook: its checks of a payload, its words for errors, and what its markup means. */
import { z } from 'zod';
import { startHttpChannel, type FakeChannel } from './http.ts';

const plain = z.strictObject({
  type: z.literal('plain_text'),
  text: z.string().min(1).max(3000),
  emoji: z.boolean().optional(),
});
const markdown = z.strictObject({
  type: z.literal('mrkdwn'),
  text: z.string().min(1).max(3000),
  verbatim: z.boolean().optional(),
});
const section = z.strictObject({
  type: z.literal('section'),
  text: z.discriminatedUnion('type', [plain, markdown]),
});
const payload = z.strictObject({
  text: z.string().min(1).max(40_000).optional(),
  blocks: z.array(section).min(1).max(50).optional(),
  unfurl_links: z.boolean().optional(),
  unfurl_media: z.boolean().optional(),
});

/** Slack makes mentions and links of what stands between `<` and `>`, and links of addresses. */
function findMarks(text: string): string[] {
  return text.match(/<[^>]*>|https?:\/\/\S+/g) ?? [];
}

export function startSlack(): Promise<FakeChannel> {
  return startHttpChannel('/services/T000/B000/aSecretOfSlack', ({ method }, body) => {
    if (method !== 'POST') return { status: 405 };
    const read = payload.safeParse(body);
    if (!read.success) return { status: 400, text: 'invalid_payload' };
    const { text, blocks = [] } = read.data;
    if (text === undefined && blocks.length === 0) return { status: 400, text: 'no_text' };
    const marks = [text ?? '', ...blocks.map((block) => block.text)].flatMap((part) =>
      typeof part === 'string' || part.type === 'mrkdwn'
        ? findMarks(typeof part === 'string' ? part : part.text)
        : (part.text.match(/https?:\/\/\S+/g) ?? []),
    );
    const lines = blocks.length > 0 ? blocks.map((block) => block.text.text) : [text ?? ''];
    return { status: 200, text: 'ok', shown: { text: lines.join('\n'), marks } };
  });
}
