/**
 * Recognises a conversation in each of its calls: by the session that the client names, or else by how the
 * conversation begins. Every call of a stateless protocol holds the whole conversation, so its beginning
 * stays the same.
 */
import { hash } from 'node:crypto';
import type { Parsed } from '../../../core/index.ts';

/** Headers by which Claude Code, Codex, opencode and others name a session. */
export const sessionHeaders = [
  'x-claude-code-session-id',
  'x-session-id',
  'session_id',
  'session-id',
  'x-opencode-session',
];
/**
 * Where a session key or the user's first words may begin. The text before them is the same in many
 * conversations.
 */
const marks = ['"prompt_cache_key"', '"user"', '"contents"', '"input"'];
/** Characters to search after a mark: a picture may precede the text. */
const searched = 16_384;
const words = /"(?:prompt_cache_key|content|text|input)"\s*:\s*"((?:[^"\\]|\\.){1,1024})/;
/** A header that an agent writes into its prompt: it names the agent's version. */
const header = /"x-[\w-]{1,80}-header:(?:[^"\\]|\\.)*/g;

/** The session that the client names in a header. */
export function readSession({ headers }: Pick<Parsed, 'headers'>): string | undefined {
  const session = sessionHeaders.map((name) => headers[name]).find((value) => value !== undefined);
  return session === undefined ? undefined : String(session);
}

export function hashConversation(parsed: Parsed): string {
  const { principal, text, call } = parsed;
  return hash(
    'sha256',
    `${principal.account} ${call.model} ${readSession(parsed) ?? findBeginning(text)}`,
    'base64',
  );
}

function findBeginning(text: string): string {
  for (const mark of marks) {
    const start = text.indexOf(mark);
    const near = start < 0 ? '' : text.slice(start, start + searched).replaceAll(header, '"');
    const found = words.exec(near)?.[1];
    if (found !== undefined) return found;
  }
  return text.slice(0, 1024).replaceAll(header, '"');
}
