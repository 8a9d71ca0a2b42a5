/**
 * Sends notices to Microsoft Teams by the webhook of a workflow ("Post to a channel when a webhook request is
 * received"), which takes adaptive cards. A `TextRun` is not read as Markdown, as a `TextBlock` is.
 */
import { defineJsonChannel } from '../shared/notices/channel.ts';
import { formatTitle } from '../shared/notices/message.ts';

const colours = { info: 'Default', warning: 'Warning', critical: 'Attention' };

function buildParagraph(text: string, style: object = {}): object {
  return { type: 'RichTextBlock', inlines: [{ type: 'TextRun', text, ...style }] };
}

export const teams = defineJsonChannel({
  kind: 'teams',
  buildBody(message) {
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
    return { type: 'message', attachments: [{ contentType, contentUrl: null, content }] };
  },
});
