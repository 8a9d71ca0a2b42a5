/**
 * The checks of a request, in the order the vendor makes them: can it be read, does every field exist, does
 * the model, does the model take the field, is the shape right, do the fields fit together. The first failure
 * is the reply.
 */
import { isObject } from '../../json.ts';
import type { WholeReply } from '../delivery.ts';
import { readBody } from '../json-body.ts';
import { describeIssue } from './complaints.ts';
import { unsupportedFields, type Extensions, type ModelFacts } from './models.ts';
import { type Complaint, refuseOverflow, refuseModel, refuse } from './refusals.ts';
import { isGiven, type Message, requestSchema, type ChatRequest } from './request.ts';
import { rules } from './rules.ts';
import { countPromptTokens } from './tokens.ts';

function describeUnanswered(ids: Iterable<string>, position: number): Complaint {
  const message =
    "An assistant message with 'tool_calls' must be followed by tool messages responding " +
    "to each 'tool_call_id'. " +
    `The following tool_call_ids did not have response messages: ${[...ids].join(', ')}`;
  return { message, param: `messages.[${position}].role`, code: null };
}

function describeOrphan(position: number): Complaint {
  const message =
    "Invalid parameter: messages with role 'tool' must be a response to a preceding message " +
    "with 'tool_calls'.";
  return { message, param: `messages.[${position}].role`, code: null };
}

function describeEmptyTurn(position: number): Complaint {
  const message = "Invalid value for 'content': expected a string, got null.";
  return { message, param: `messages.[${position}].content`, code: null };
}

function describeRepeatedCall(id: string, position: number): Complaint {
  return {
    message: `Duplicate tool call id '${id}'.`,
    param: `messages.[${position}].tool_calls`,
    code: 'invalid_value',
  };
}

/**
 * The rules of a conversation: every call of an assistant turn is answered by a tool message right after it,
 * each once, and no tool message is anywhere else. Gateways that merge, reorder or drop turns break these.
 */
function checkConversation(messages: readonly Message[]): Complaint | undefined {
  let open = new Set<string>();
  for (const [position, message] of messages.entries()) {
    if (message.role === 'tool') {
      if (!open.delete(message.tool_call_id)) return describeOrphan(position);
      continue;
    }
    if (open.size) return describeUnanswered(open, position);
    if (message.role !== 'assistant') continue;
    const { content, refusal, audio, function_call: oldCall, tool_calls: calls = [] } = message;
    if (!calls.length && ![content, refusal, audio, oldCall].some(isGiven))
      return describeEmptyTurn(position);
    open = new Set(calls.map(({ id }) => id));
    const twice = calls.find(({ id }, index) => calls.findIndex((call) => call.id === id) < index);
    if (twice) return describeRepeatedCall(twice.id, position);
  }
  return open.size ? describeUnanswered(open, messages.length - 1) : undefined;
}

export type Checked =
  | { readonly request: ChatRequest; readonly facts: ModelFacts }
  | { readonly refusal: WholeReply };

type JsonObject = Readonly<Record<string, unknown>>;

function parse(bytes: Buffer): { readonly body: JsonObject } | { readonly refusal: WholeReply } {
  const read = readBody(bytes);
  if (!('fault' in read)) return read;
  if (read.fault === 'unreadable')
    return { refusal: refuse({ message: 'We could not parse the JSON body of your request.', code: null }) };
  return {
    refusal: refuse({
      message: `Duplicate parameter: '${read.name}'.`,
      param: read.name,
      code: 'duplicate_parameter',
    }),
  };
}

function omitFields(value: unknown, fields: readonly string[]): unknown {
  return isObject(value)
    ? Object.fromEntries(Object.entries(value).filter(([field]) => !fields.includes(field)))
    : value;
}

/** The part of a request every vendor of the protocol knows. */
function selectStandardPart(
  body: JsonObject,
  { fields = [], messageFields = [], toolTypes = [] }: Extensions,
): JsonObject {
  const standard: Record<string, unknown> = Object.fromEntries(
    Object.entries(body).filter(([field]) => !fields.includes(field)),
  );
  const { messages, tools } = standard;
  if (messageFields.length && Array.isArray(messages)) {
    standard.messages = messages.map((message: unknown) => {
      const bare = omitFields(message, messageFields);
      if (!isObject(bare) || !Array.isArray(bare.tool_calls)) return bare;
      return { ...bare, tool_calls: bare.tool_calls.map((call: unknown) => omitFields(call, messageFields)) };
    });
  }
  if (toolTypes.length && Array.isArray(tools)) {
    const known = tools.filter((tool: unknown) => !isObject(tool) || !toolTypes.includes(String(tool.type)));
    if (known.length) standard.tools = known;
    else delete standard.tools;
  }
  return standard;
}

function checkSupport(body: JsonObject, reasoning: boolean): WholeReply | undefined {
  const param = unsupportedFields[reasoning ? 'reasoning' : 'plain'].find((field) => isGiven(body[field]));
  if (!param) return undefined;
  const hint = param === 'max_tokens' ? " Use 'max_completion_tokens' instead." : '';
  return refuse({
    message: `Unsupported parameter: '${param}' is not supported with this model.${hint}`,
    param,
    code: 'unsupported_parameter',
  });
}

/** DeepSeek, while it thinks, refuses forced tools, and answers without the reasoning that led to them. */
function checkThoughts({ messages, thinking, tool_choice: choice }: JsonObject): WholeReply | undefined {
  if (isObject(thinking) && thinking.type === 'disabled') return undefined;
  if (choice === 'required' || isObject(choice))
    return refuse({
      message: 'Thinking mode does not support this tool_choice',
      code: 'invalid_request_error',
    });
  const answers = Array.isArray(messages)
    ? messages.filter(isObject).filter(({ role }) => role === 'assistant')
    : [];
  if (!answers.some((answer) => answer.tool_calls) || answers.every((answer) => answer.reasoning_content))
    return undefined;
  return refuse({
    message: 'The `reasoning_content` in the thinking mode must be passed back to the API.',
    code: 'invalid_request_error',
  });
}

/** Takes the bytes of a request and a lookup of a model's facts; returns the request, or its refusal. */
export function check(bytes: Buffer, find: (model: string) => ModelFacts | undefined): Checked {
  const parsed = parse(bytes);
  if ('refusal' in parsed) return parsed;
  const model = parsed.body.model;
  const facts = typeof model === 'string' ? find(model) : undefined;
  const body = selectStandardPart(parsed.body, facts?.extensions ?? {});
  const stranger = Object.keys(body).find((field) => !(field in requestSchema.shape));
  if (stranger)
    return {
      refusal: refuse({
        message: `Unknown parameter: '${stranger}'.`,
        param: stranger,
        code: 'unknown_parameter',
      }),
    };
  if (typeof model === 'string' && !facts) return { refusal: refuseModel(model) };
  const refusal = checkSupport(body, facts?.reasoning ?? false);
  if (refusal) return { refusal };
  const missed = facts?.wantsThoughts ? checkThoughts(parsed.body) : undefined;
  if (missed) return { refusal: missed };
  const shaped = requestSchema.safeParse(body, { reportInput: true });
  if (!shaped.success) {
    const [issue] = shaped.error.issues;
    return { refusal: refuse(issue ? describeIssue(issue) : { message: 'Invalid request.', code: null }) };
  }
  return checkCombination(shaped.data, facts ?? {});
}

function checkCombination(request: ChatRequest, facts: ModelFacts): Checked {
  const broken =
    rules.map((rule) => rule(request, facts)).find(Boolean) ?? checkConversation(request.messages);
  if (broken) return { refusal: refuse(broken) };
  const prompt = countPromptTokens(request);
  const limit = facts.contextLength ?? Infinity;
  return prompt > limit ? { refusal: refuseOverflow(limit, prompt) } : { request, facts };
}
