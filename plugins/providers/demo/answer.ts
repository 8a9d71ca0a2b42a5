/**
 * What the demo model says: it quotes what it was sent, calls the first tool it is offered, and repeats what
 * the tool answered. The same request always gets the same answer, and no answer pretends to know anything.
 */
import { buildExample } from './example.ts';
import { countAttachments, joinText, type Request } from './request.ts';

type Answer =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'tool-call'; readonly name: string; readonly text: string };

export interface Outcome {
  readonly answer: Answer;
  readonly reason: 'stop' | 'length' | 'tool_calls';
}

const introduction =
  "This is Tollgate's demo model. It answers offline and knows nothing but what you send it.";
const longestQuote = 500;
const bytesPerToken = 4;

/** The demo model's own measure, by which it is billed: a token is four bytes of UTF-8. */
export function countTokens(text: string): number {
  return Math.ceil(Buffer.byteLength(text) / bytesPerToken);
}

/** The answer and why it ends: a stop sequence, the limit, or because it is complete. */
export function answerRequest(request: Request): Outcome {
  const whole = buildAnswer(request);
  const stopped = whole.kind === 'text' ? cutAtStop(whole.text, request.stop) : whole.text;
  const text = cutAtLimit(stopped, request.max_completion_tokens ?? request.max_tokens ?? undefined);
  if (text.length < stopped.length) return { answer: { ...whole, text }, reason: 'length' };
  return { answer: { ...whole, text }, reason: whole.kind === 'text' ? 'stop' : 'tool_calls' };
}

function buildAnswer(request: Request): Answer {
  const tool = request.messages.at(-1)?.role === 'user' ? findTool(request) : undefined;
  if (tool)
    return {
      kind: 'tool-call',
      name: tool.name,
      text: JSON.stringify(buildExample(tool.parameters ?? { type: 'object' })),
    };
  return { kind: 'text', text: buildJsonAnswer(request) ?? buildPlainAnswer(request) };
}

function findTool({ tools, tool_choice }: Request): { name: string; parameters?: unknown } | undefined {
  if (tool_choice === 'none') return undefined;
  const functions = (tools ?? []).flatMap((tool) => tool.function ?? []);
  const wanted = typeof tool_choice === 'object' ? tool_choice?.function?.name : undefined;
  return wanted === undefined ? functions[0] : functions.find(({ name }) => name === wanted);
}

function buildJsonAnswer({ response_format, messages }: Request): string | undefined {
  if (response_format?.type === 'json_schema')
    return JSON.stringify(buildExample(response_format.json_schema?.schema));
  if (response_format?.type === 'json_object')
    return JSON.stringify({ note: introduction, you_said: quote(getLastText(messages)) });
  return undefined;
}

function buildPlainAnswer({ messages }: Request): string {
  const results = messages.slice(
    messages.findLastIndex(({ role }) => role !== 'tool' && role !== 'function') + 1,
  );
  if (results.length > 0)
    return `${introduction} The tool answered: ${quote(results.map(joinText).join('\n'))}`;
  const attachments = messages.reduce((count, message) => count + countAttachments(message), 0);
  const unread =
    attachments > 0
      ? ` It cannot read the ${attachments === 1 ? 'attachment' : `${attachments} attachments`} you sent.`
      : '';
  return `${introduction}${unread} You said: ${quote(getLastText(messages))}`;
}

function getLastText(messages: Request['messages']): string {
  const said = messages.findLast(({ role }) => role === 'user');
  return said ? joinText(said) : '';
}

/** The beginning of a text, which never ends with half a character. */
function quote(text: string): string {
  return text.length <= longestQuote
    ? text
    : `${text.slice(0, longestQuote).replace(/[\uD800-\uDBFF]$/, '')}…`;
}

function cutAtStop(text: string, stop: Request['stop']): string {
  const places = [stop ?? []]
    .flat()
    .flatMap((sequence) => (sequence && text.includes(sequence) ? [text.indexOf(sequence)] : []));
  return text.slice(
    0,
    places.reduce((first, place) => Math.min(first, place), text.length),
  );
}

function cutAtLimit(text: string, limit: number | undefined): string {
  if (limit === undefined || countTokens(text) <= limit) return text;
  return text.slice(0, new TextEncoder().encodeInto(text, new Uint8Array(limit * bytesPerToken)).read);
}
