/** Texts as people may read them: without the secrets of this process, and on one line. */
import { isReference, listReadSecrets } from './secret-references.ts';

const secretVariable = /KEY|SECRET|TOKEN|PASSWORD|CREDENTIAL/i;

const shortestSecret = 6;

/** Secrets of the environment, and those that references named, which a text could repeat. */
export function listSecrets(): string[] {
  const stated = Object.entries(process.env).flatMap(([name, value = '']) =>
    secretVariable.test(name) && !isReference(value) ? [value] : [],
  );
  return [...stated, ...listReadSecrets()].filter((value) => value.length >= shortestSecret);
}

/** A text without the secrets of the environment and of references, and without the passwords of URLs. */
export function hideSecrets(text: string): string {
  const plain = listSecrets().reduce((rest, secret) => rest.replaceAll(secret, '••••'), text);
  return plain
    .replaceAll(/\b(\w{1,30}:\/\/)[^\s/@"']+@/g, '$1••••@')
    .replaceAll(/([?&](?=[\w-]*(?:key|token|secret|password|sig))[\w-]+=)[^&\s"']+/gi, '$1••••');
}

/** What breaks a line, steers a terminal or turns the direction of what follows. */
const unprintable = /[\p{Cc}\p{Bidi_Control}\u2028\u2029]/gu;

/** A text of others as a part of a line. */
export function toOneLine(text: string): string {
  return text.replaceAll(unprintable, '\u{fffd}');
}

/**
 * Copies a text. In V8, a slice of a long string is a view that keeps the whole string in memory. Without the
 * copy, a slow stream would hold whole chunks for a few characters of them.
 */
export function detach(text: string): string {
  // V8 must flatten the longer string before it slices it, which makes the copy.
  return `${text} `.slice(0, -1);
}
