/**
 * What a call counts for: the tags of its key, those of the header `x-tollgate-tags`, the session and agent
 * that coding agents name in headers of their own, the end user, and the metadata of the body. Where two
 * sources give a name, the first of this order is right, so that a caller cannot replace what the key says.
 * All but the header is cut to the limits, since the fields have other uses too.
 */
import {
  longestTagName,
  longestTagValue,
  mostTags,
  readTagsHeader,
  splitTag,
  tagsHeader,
  type End,
  type Tag,
} from '../../core/index.ts';
import { formatTag } from './calls/tag-text.ts';
import { sessionHeaders } from './routing/conversation.ts';

type Exchange = Pick<End['exchange'], 'headers' | 'principal' | 'call'>;

type CallTags = Readonly<Record<string, string>>;

interface Attribution {
  /** Each tag as budgets name it: `team:search`, or `research` where it has no value. */
  readonly texts: readonly string[];
  readonly byName: CallTags;
}

/** Tags of one call, with those of its key. */
const mostOfCall = 3 * mostTags;
/** A longer end user is not read for its parts. */
const longestUser = 2000;

const nothing: Attribution = { texts: [], byName: {} };

const agentHeaders = ['x-claude-code-agent-id', 'thread-id', 'thread_id'] as const;
const parentHeaders = ['x-claude-code-parent-agent-id', 'x-codex-parent-thread-id'] as const;

const callerHeaders = [tagsHeader, ...sessionHeaders, ...agentHeaders, ...parentHeaders];

const known = new WeakMap<Exchange, Attribution>();

/** The tags of a call. It is asked for several times, and read once. */
export function getAttribution(exchange: Exchange): Attribution {
  if (!isAttributed(exchange)) return nothing;
  let attribution = known.get(exchange);
  if (!attribution) known.set(exchange, (attribution = readAttribution(exchange)));
  return attribution;
}

/** Allocates nothing, since most calls have no tags. */
function isAttributed({ headers, principal, call }: Exchange): boolean {
  if (principal?.tags?.length || call?.labels) return true;
  for (const name of callerHeaders) if (headers[name] !== undefined) return true;
  return false;
}

function readAttribution(exchange: Exchange): Attribution {
  const { headers, principal, call } = exchange;
  const byName = new Map<string, string>();
  const texts = new Set<string>();
  for (const text of principal?.tags ?? []) {
    const [name, value] = splitTag(text);
    texts.add(text);
    // A key can have two tags of one name. The record holds the others by their whole text.
    if (byName.has(name)) byName.set(text, '');
    else byName.set(name, value);
  }
  const { user, session: userSession } = readUser(call?.labels?.user);
  const session = readFirstHeader(headers, sessionHeaders) ?? userSession;
  const agent = readFirstHeader(headers, agentHeaders);
  const given: (readonly [string, string | undefined])[] = [
    ...readCallerTags(headers[tagsHeader]),
    ['session', session],
    // Codex names a thread for the main conversation too, which is the session.
    ['agent', agent === session ? undefined : agent],
    ['parent-agent', readFirstHeader(headers, parentHeaders)],
    ['user', user],
    ...Object.entries(call?.labels?.metadata ?? {}),
  ];
  for (const [given_, text] of given) {
    if (byName.size >= mostOfCall) break;
    const name = given_.slice(0, longestTagName).replace(/[^\w.@+/-]/g, '_');
    if (text === undefined || name === '' || byName.has(name)) continue;
    const value = cleanText(text);
    byName.set(name, value);
    texts.add(formatTag(name, value));
  }
  return { texts: [...texts], byName: Object.fromEntries(byName) };
}

/** A wrong header refuses its call, which still has an end that is logged. */
function readCallerTags(header: Parameters<typeof readTagsHeader>[0]): readonly Tag[] {
  try {
    return readTagsHeader(header);
  } catch {
    return [];
  }
}

function readFirstHeader(headers: Exchange['headers'], names: readonly string[]): string | undefined {
  return names.map((name) => String(headers[name] ?? '').trim()).find((value) => value !== '');
}

/** PostgreSQL takes neither NUL nor half a surrogate pair. */
function cleanText(text: string): string {
  return text
    .slice(0, longestTagValue)
    .replace(/\p{Cc}+/gu, ' ')
    .toWellFormed()
    .trim();
}

/**
 * Claude Code names the account, the device and the session in one text: as JSON, or joined with underscores.
 * All of it as the end user would make each session another user.
 */
function readUser(text = ''): { readonly user?: string | undefined; readonly session?: string | undefined } {
  if (text.trim() === '') return {};
  if (text.length > longestUser) return { user: text };
  const end = text.startsWith('user_') ? text.lastIndexOf('_session_') : -1;
  const session = text.slice(end + '_session_'.length);
  if (end > 'user_'.length && session !== '') return { user: text.slice(0, end), session };
  if (!text.startsWith('{')) return { user: text };
  try {
    const value: unknown = JSON.parse(text);
    const parts = new Map(Object.entries(value ?? {}).filter(([, part]) => typeof part === 'string' && part));
    const readPart = (name: string): string | undefined =>
      parts.has(name) ? String(parts.get(name)) : undefined;
    return {
      user: readPart('account_uuid') ?? readPart('device_id') ?? text,
      session: readPart('session_id'),
    };
  } catch {
    return { user: text };
  }
}
