/**
 * Sends notices to Microsoft Teams by the webhook of a workflow ("Post to a channel when a webhook request is
 * received"), which takes adaptive cards. A `TextRun` is not read as Markdown, as a `TextBlock` is.
 */
import { z } from 'zod';
import {
  channelOptions,
  channelUrl,
  defineChannel,
  formatTitle,
  sendJson,
} from '../shared/notices/channel.ts';

const colours = { info: 'Default', warning: 'Warning', critical: 'Attention' };

function buildParagraph(text: string, style: object = {}): object {
  return { type: 'RichTextBlock', inlines: [{ type: 'TextRun', text, ...style }] };
}

export const teams = defineChannel({
  kind: 'teams',
  options: z.strictObject({ url: channelUrl, ...channelOptions }),
  open: ({ url, timeout }) => ({
    send(message) {
      const style = { weight: 'Bolder', color: colours[message.severity] };
      const lines = message.lines.map((line) => buildParagraph(line));
      const content = {
        $schema: 'http://adaptivecards.io/schemas/adaptive-card.json',
        type: 'AdaptiveCard',
        version: '1.4',
        body: [buildParagraph(formatTitle(message), style), ...lines],
        msteams: { width: 'Full' },
      };
      const contentType = 'application/vnd.microsoft.card.adaptive';
      const body = { type: 'message', attachments: [{ contentType, contentUrl: null, content }] };
      return sendJson(url, { body: JSON.stringify(body), timeout });
    },
    // A workflow takes a POST only, and each one starts it: another method shows that the server is there.
    check: () => sendJson(url, { method: 'HEAD', timeout }, [400, 404, 405]),
  }),
});
