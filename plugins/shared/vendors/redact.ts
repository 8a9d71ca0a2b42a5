/**
 * Removes everything about the gateway's own account from a vendor's error: keys and parts of keys, the names
 * of our organisation, project and team, and advice about our billing. The rest stays as the vendor wrote it.
 */
import { joinPatterns } from '../wire-kit/join-patterns.ts';
import { isObject, type Fields } from '../wire-kit/vendor-bag.ts';

const id = String.raw`[\`'"]?(?:org[-_]\w+|proj_\w+|[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f-]{22,})[\`'"]?`;

/** What to replace, and by what. Whole phrases come before the ids in them. */
const patterns: readonly (readonly [pattern: RegExp, replacement: string])[] = [
  // OpenAI and Groq: "Rate limit reached for gpt-4o in organization org-abc on tokens per min".
  [
    new RegExp(
      String.raw`(?<!\s)\s*\b(?:in|for|of|from) (?:your )?(?:organi[sz]ation|project|team|workspace) ${id}`,
      'gi',
    ),
    '',
  ],
  // Anthropic: "the rate limit for your organization (0123…)".
  [new RegExp(String.raw`(?<=\b(?:organi[sz]ation|project|team|workspace)) \(${id}\)`, 'gi'), ''],
  // xAI: "Team: 0123…, API key ID: 0123…, Model: grok-4".
  [
    new RegExp(
      String.raw`\b(?:team|api key|organi[sz]ation|project|workspace|account)(?: id)?:? ${id}(?:,\s*)?`,
      'gi',
    ),
    '',
  ],
  [
    /\b(?:org_|proj_)[A-Za-z0-9]{3,}|(?<![\w.-])(?:\w+-)*org(?:-\w+)+|(?<![\w.-])(?:\w+-)+org\b/g,
    '[redacted]',
  ],
  [/\b(?:sk|gsk|pk|rk|xai|pplx|nvapi|tgp|fw|hf|r8)[-_][\w*.-]*[\w*]/g, '[redacted]'],
  [/\b(?:AIza[\w-]{4,}|ya29\.[\w.-]+|A[KS]IA\w{8,})/g, '[redacted]'],
  [/(?<=[?&](?:key|api[-_]?key|access_token)=)[^&\s"']+/gi, '[redacted]'],
  // Google names a project by its number or its name.
  [/\bprojects\/[^\s/'"`,;)]+/g, 'projects/-'],
  [/\bproject(?:_number)?[: ]\s?\d{6,}/g, 'project'],
  [/(?<![\w.-])[\w.-]{1,100}@[\w.-]{0,100}gserviceaccount\.com/g, '[redacted]'],
  [/(?<=\barn:aws[\w-]*:[\w-]*:[\w-]*:)\d{12}/g, '-'],
];

/** Removes the names of our account and parts of our key from a text. */
export function redact(text: string): string {
  return patterns.reduce((kept, [pattern, replacement]) => kept.replace(pattern, replacement), text);
}

/** Advice to the holder of the account, who is not the client. */
const advice = joinPatterns(
  /\b(billing|payment|your (current )?(plan|usage|quota)|credit balance|upgrade|api key)\b/,
  /\/(account|settings|plans|dashboard)\b/,
);

/** A message about load without advice about our plan and billing; undefined if nothing is left. */
export function omitAdvice(message: string): string | undefined {
  const kept = message.split(/(?<=[.!?])\s+|\n+/).filter((sentence) => !advice.test(sentence));
  const text = kept.join(' ').trim();
  return text === '' ? undefined : text;
}

/** Fields that identify our account at the vendor. */
const aboutAccount = joinPatterns(
  /^(user|org|organi[sz]ation|project|team|workspace|account)(_?id|_?number|_?name)?$/,
  /^(consumer|subject|containerInfo|service_?account|api_?key\w*|authorization)$/,
);

const deepest = 12;
/** Characters of all names and texts of an error together. The rest is cut: vendors echo whole requests. */
const longestError = 64 * 1024;

/** Redacts one error. A limit for each text would not bound an error of many texts. */
class Redaction {
  #room = longestError;

  #redactText(text: string): string {
    const kept = text.slice(0, this.#room);
    this.#room -= kept.length;
    return redact(kept);
  }

  #redactList(list: readonly unknown[], depth: number): unknown[] {
    const kept: unknown[] = [];
    for (const each of list) {
      if (this.#room <= 0) break;
      this.#room -= 1;
      kept.push(this.#redactValue(each, depth));
    }
    return kept;
  }

  #redactValue(value: unknown, depth: number): unknown {
    if (typeof value === 'string') return this.#redactText(value);
    if (depth > deepest) return undefined;
    if (Array.isArray(value)) return this.#redactList(value, depth + 1);
    return isObject(value) ? this.redactFields(value, depth) : value;
  }

  redactFields(fields: Fields, depth: number): Fields {
    const kept: [string, unknown][] = [];
    for (const [name, value] of Object.entries(fields)) {
      this.#room -= name.length;
      if (this.#room <= 0) break;
      if (!aboutAccount.test(name)) kept.push([name, this.#redactValue(value, depth + 1)]);
    }
    return Object.fromEntries(kept);
  }
}

/** An object of a vendor's error, and everything in it, without what identifies our account. */
export function redactFields(fields: Fields): Fields {
  return new Redaction().redactFields(fields, 0);
}
