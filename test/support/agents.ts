/**
 * How coding agents retry, as observed with real ones: as often and for the same reasons, but without most of
 * their pauses. Codex mainly looks at bodies, Claude Code obeys `x-should-retry`, and Gemini CLI knows
 * neither.
 */
import { setTimeout as sleep } from 'node:timers/promises';

interface Heard {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
}

/** One POST of what the user wants; `stream` is how the agent asks for it. */
type Post = (stream: boolean) => Promise<Heard>;

/** Returns whether it got its reply. */
type Agent = (post: Post) => Promise<boolean>;

function readCode(text: string): string | undefined {
  return /"code":\s*"(\w+)"/.exec(text)?.[1];
}

/** Waits as long as the gateway says, for a second at most. */
async function pause({ headers }: Heard): Promise<void> {
  await sleep(Math.min(1, Number(headers.get('retry-after') ?? 0)) * 1000);
}

/** The errors it shows to its user at once: it retries all others. */
const fatal = new Set(['context_length_exceeded', 'insufficient_quota', 'server_is_overloaded', 'slow_down']);

/** Five requests while the status is 5xx, and that six times. */
const runCodex: Agent = async (post) => {
  for (let turn = 0; turn < 6; turn += 1) {
    let heard = await post(true);
    for (let again = 0; again < 4 && heard.status >= 500; again += 1) heard = await post(true);
    const { status, headers, text } = heard;
    if (status === 200 && text.includes('"type":"response.completed"')) return true;
    if (
      status === 400 ||
      fatal.has(readCode(text) ?? '') ||
      (status === 429 && headers.get('x-should-retry') === 'false')
    )
      return false;
    await pause(heard);
  }
  return false;
};

/** Ten retries, as its SDK decides; after an error inside a stream it asks once more, for a whole reply. */
const runClaudeCode: Agent = async (post) => {
  let stream = true;
  for (let turn = 0; turn < 11; turn += 1) {
    const heard = await post(stream);
    const { status, headers, text } = heard;
    const isBroken = stream && !text.includes('event: message_stop');
    if (status === 200 && !isBroken) return true;
    if (status === 200 && text.includes('event: error')) stream = false;
    const mayAgain =
      status === 200 || status === 401 || status === 408 || status === 409 || status === 429 || status >= 500;
    if (headers.get('x-should-retry') === 'false' || !mayAgain) return false;
    await pause(heard);
  }
  return false;
};

/** Four attempts in all, also if a stream ends without its last event. */
const runGeminiCli: Agent = async (post) => {
  for (let turn = 0; turn < 4; turn += 1) {
    const heard = await post(true);
    if (heard.status === 200 && heard.text.includes('"finishReason"')) return true;
    if (heard.status !== 200 && heard.status !== 429 && heard.status < 500) return false;
    await pause(heard);
  }
  return false;
};

export const agents = { Codex: runCodex, 'Claude Code': runClaudeCode, 'Gemini CLI': runGeminiCli } as const;
