/** The webhook of a Teams workflow, which posts adaptive cards, and what Markdown means in a card. */
import { z } from 'zod';
import { startHttpChannel, type FakeChannel } from './http.ts';

const run = z.strictObject({
  type: z.literal('TextRun'),
  text: z.string().min(1),
  weight: z.enum(['Lighter', 'Default', 'Bolder']).optional(),
  color: z.enum(['Default', 'Dark', 'Light', 'Accent', 'Good', 'Warning', 'Attention']).optional(),
});
const element = z.discriminatedUnion('type', [
  z.strictObject({ type: z.literal('RichTextBlock'), inlines: z.array(run).min(1) }),
  z.strictObject({ type: z.literal('TextBlock'), text: z.string().min(1), wrap: z.boolean().optional() }),
]);
const card = z.strictObject({
  $schema: z.literal('http://adaptivecards.io/schemas/adaptive-card.json'),
  type: z.literal('AdaptiveCard'),
  // Teams shows a note to update in place of a card of a later version.
  version: z.enum(['1.0', '1.1', '1.2', '1.3', '1.4', '1.5']),
  body: z.array(element).min(1),
  msteams: z.strictObject({ width: z.literal('Full') }).optional(),
});
const payload = z.strictObject({
  type: z.literal('message'),
  attachments: z
    .array(
      z.strictObject({
        contentType: z.literal('application/vnd.microsoft.card.adaptive'),
        contentUrl: z.null(),
        content: card,
      }),
    )
    .length(1),
});
/** Bytes of a message. */
const most = 28 * 1024;

export function startTeams(): Promise<FakeChannel> {
  const path = '/workflows/0a1b/triggers/manual/paths/invoke?api-version=1&sig=aSecretOfTeams';
  return startHttpChannel(path, ({ method, headers }, body) => {
    if (method !== 'POST') return { status: 404 };
    const read = payload.safeParse(body);
    if (!read.success || Number(headers['content-length']) > most)
      return { status: 400, text: '{"error":{"code":"InvalidRequestContent"}}' };
    const elements = read.data.attachments.flatMap(({ content }) => content.body);
    const marked = elements.flatMap((each) => (each.type === 'TextBlock' ? each.text : []));
    const plain = elements.flatMap((each) => (each.type === 'TextBlock' ? [] : each.inlines));
    const marks = [
      ...(marked.join('\n').match(/\[[^\]]*\]\([^)]*\)|<at>|[*_]/g) ?? []),
      ...(plain
        .map(({ text }) => text)
        .join('\n')
        .match(/https?:\/\/\S+/g) ?? []),
    ];
    return { status: 202, shown: { text: [...marked, ...plain.map(({ text }) => text)].join('\n'), marks } };
  });
}
